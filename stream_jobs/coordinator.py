"""aiokafka's group coordinator, with one answer of the broker read that aiokafka 0.14 overlooks.

The broker answers the question for committed offsets with one error for all partitions while it does not look after the
group: in the moments after its restart, or when the group moves to another broker. aiokafka reads the partitions alone, of
which there are none then, takes that for a group that has never committed, and reads the whole topic again. Nothing is
stored twice, but nothing new is stored either until that is done.
"""

from __future__ import annotations

from typing import Any

from aiokafka import errors
from aiokafka.consumer import consumer as aiokafka_consumer
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.protocol.commit import OffsetFetchRequest

MOVED = (errors.GroupCoordinatorNotAvailableError, errors.NotCoordinatorForGroupError)


class Coordinator(GroupCoordinator):  # type: ignore[misc]  # no types
    async def _send_req(self, request: Any) -> Any:
        response = await super()._send_req(request)
        if isinstance(request, OffsetFetchRequest):
            error = errors.for_code(getattr(response, "error_code", 0))  # version 1 has none
            if error in MOVED:
                self.coordinator_dead()
            if error is not errors.NoError:
                raise error(self.group_id)
        return response


def install() -> None:
    """Let every consumer of this process have it: nothing of aiokafka or Faust takes another class as an argument."""
    aiokafka_consumer.GroupCoordinator = Coordinator
