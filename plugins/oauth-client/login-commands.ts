import { GatewayError } from "propylon";
import { askPlugin, type ClientFlags } from "propylon/cli";
import { pause } from "propylon/kit";

/** How often the gateway is asked whether somebody has logged in, in milliseconds. */
const POLL_MS = 1_000;
/** How long somebody may take, in milliseconds. */
const LOGIN_MS = 600_000;

const plugin = "oauth-client";

/** Logs the gateway in at a server: prints the link, and waits for its end. */
export async function logIn(server: string, flags: ClientFlags): Promise<void> {
  const path = `/servers/${encodeURIComponent(server)}/login`;
  const { id, location } = await askPlugin(flags, { method: "POST", path, plugin });
  console.log(`Open this page to log the gateway in at ${server}:\n\n${String(location)}\n`);
  const signal = AbortSignal.timeout(LOGIN_MS);
  for (;;) {
    const { state, reason } = await askPlugin(flags, { path: `${path}/${String(id)}`, plugin });
    if (state === "done") return console.log(`The gateway is logged in at ${server}.`);
    if (state === "failed") throw failed(server, String(reason));
    if (signal.aborted) throw failed(server, "Nobody logged in within ten minutes.");
    await pause(POLL_MS, signal);
  }
}

/** Logs the gateway out at a server. */
export async function logOut(server: string, flags: ClientFlags): Promise<void> {
  const path = `/servers/${encodeURIComponent(server)}/login`;
  const { was } = await askPlugin(flags, { method: "DELETE", path, plugin });
  console.log(
    was === true
      ? `The gateway is logged out at ${server}.`
      : `The gateway was not logged in at ${server}.`,
  );
}

function failed(server: string, reason: string): GatewayError {
  return new GatewayError("upstream_error", `The gateway is not logged in at ${server}. ${reason}`);
}
