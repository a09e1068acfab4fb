"""Grafana as code: dashboards, alert rules and provisioning files, built here, committed as JSON, checked for drift.

`query` and `house` are the floor; `task`, `compare`, `fleet` and `pipeline` are the dashboards, one module each; `alerts`
the rules; `files` says which file comes from what; `push` brings them to a running Grafana. Nothing but `push` needs a server.
"""
