"""The read API, `/api/v1/…`: GET only, problems as problem+json, the document at `/api/v1/openapi.json`."""
