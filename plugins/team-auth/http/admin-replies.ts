import type { Changed } from "../directory/changes.ts";

/** A change, and what it ended; never to be kept on the way, as it may hold a secret that is shown once. */
export function changed<T extends object | void>(
  { value, ended }: Changed<T>,
  status = 200,
): Response {
  const body = { ok: true, ...value, ended };
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
