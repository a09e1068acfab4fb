"""Two words for every failure, in every program.

TrainwireError
├── TemporaryError   it may work later: wait and try again
└── PermanentError   trying again is useless: the message says what to do
    └── SettingError a setting is missing, unknown or wrong
"""


class TrainwireError(Exception):
    """Root of the failures that this project raises on purpose."""


class TemporaryError(TrainwireError):
    """A failure that passes by itself: a broker restarting, a store refusing for now."""


class PermanentError(TrainwireError):
    """A failure that stays until a person acts. The message says what to do."""


class SettingError(PermanentError):
    """A setting that is missing, unknown or not understood. Programs exit with `EXIT_SETTING`."""


EXIT_OK = 0
EXIT_FAILED = 1  # the work was done and its answer is "no": a check that found a difference
EXIT_SETTING = 2  # as shells and argparse use it: the call or the settings are wrong
EXIT_TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h: the same call may work later
