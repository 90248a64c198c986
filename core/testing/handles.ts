/** Reading and closing of files, which ends on its own: the gateway loads modules when something first needs them. */
const PASSING = /^(?:CloseReq|FSReq)/;

/** What keeps the process alive right now, by kind: sockets, servers, timers, watchers, children. */
export function openResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo())
    if (!PASSING.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Kinds of which there are more than before, once the event loop had its turns to let go of what was closed. */
export async function leakedResources(before: Readonly<Record<string, number>>): Promise<string[]> {
  const leaked = (): string[] =>
    Object.entries(openResources()).flatMap(([kind, count]) =>
      count > (before[kind] ?? 0) ? [`${kind}: ${count - (before[kind] ?? 0)}`] : [],
    );
  for (let turn = 0; turn < 50 && leaked().length > 0; turn++)
    await new Promise((resolve) => setImmediate(resolve));
  return leaked();
}
