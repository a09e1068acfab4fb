"""The built-in page: `/tasks` and `/tasks/<id>`, one document whose parts `build.sh` makes from `source`."""
