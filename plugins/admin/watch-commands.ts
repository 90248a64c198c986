import { askPlugin, type ClientFlags } from "propylon/cli";

const ADMIN = { plugin: "admin", base: "/_meta" } as const;

/** Flags of `propylon calls`. */
export interface CallsFlags extends ClientFlags {
  readonly cancel?: string;
  readonly server?: string;
}

/** Flags of `propylon stderr`. */
export interface StderrFlags extends ClientFlags {
  readonly lines?: number;
}

interface ListedCall {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly principal: string;
  readonly ms: number | null;
}

/** Prints the calls that run, a line each, oldest first; or ends one. */
export async function calls({ cancel, server, ...flags }: CallsFlags): Promise<void> {
  if (cancel !== undefined) return end(cancel, flags);
  const answer = await askPlugin(flags, {
    ...ADMIN,
    path: "/calls",
    query: { server, limit: "1000" },
  });
  if (flags.json) return console.log(JSON.stringify(answer, null, 2));
  const { calls: listed, total } = answer as {
    readonly calls: readonly ListedCall[];
    readonly total: number;
  };
  for (const { id, server: of, name, principal, ms } of listed)
    console.log(`${id}  ${seconds(ms)}  ${of}/${visible(name)}  ${visible(principal)}`);
  if (total === 0) console.log("No call is running.");
  else if (total > listed.length) console.log(`... and ${total - listed.length} more`);
}

async function end(id: string, flags: CallsFlags): Promise<void> {
  const path = `/calls/${encodeURIComponent(id)}`;
  const answer = await askPlugin(flags, { ...ADMIN, method: "DELETE", path });
  console.log(flags.json ? JSON.stringify(answer, null, 2) : `The call ${id} was ended.`);
}

/** Prints the lines as they are, except for what a terminal would obey. */
export async function stderr(server: string, { lines, ...flags }: StderrFlags): Promise<void> {
  const path = `/servers/${encodeURIComponent(server)}/stderr`;
  const answer = await askPlugin(flags, { ...ADMIN, path, query: { lines: lines?.toString() } });
  if (flags.json) return console.log(JSON.stringify(answer, null, 2));
  const told = answer as { readonly available: boolean; readonly lines: readonly string[] };
  for (const line of told.lines) console.log(visible(line));
  if (!told.available) console.error(`The server "${server}" has no child process.`);
}

function seconds(ms: number | null): string {
  return ms === null ? "-" : `${(ms / 1_000).toFixed(1)} s`;
}

/** Names and lines come from servers: an escape sequence in one would be obeyed by the terminal. */
function visible(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what is to be seen
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, "\uFFFD");
}
