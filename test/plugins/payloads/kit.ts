import { request } from "undici";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import { Payloads, type PayloadStore } from "../../../plugins/payloads/service.ts";

/** Hands the store to a test, as another plugin gets it. */
export function holder(): {
  readonly plugin: ReturnType<typeof make>;
  readonly store: () => PayloadStore;
} {
  let held: PayloadStore | undefined;
  const plugin = make((store) => (held = store));
  return { plugin, store: () => held! };
}

function make(hold: (store: PayloadStore) => void) {
  return definePlugin({
    name: "holder",
    config: z.strictObject({ changed: z.number().optional() }),
    inject: { payloads: Payloads },
    setup: ({ services }) => hold(services.payloads),
  });
}

/** A request whose Accept-Encoding is exactly what is given: fetch would add its own. */
export async function get(
  url: string,
  headers: Record<string, string> = {},
  method: "GET" | "HEAD" = "GET",
): Promise<{
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
}> {
  // Over a connection of its own: the gateway may close an idle one at the moment in which it is used.
  const response = await request(url, { method, headers, reset: true });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.from(await response.body.arrayBuffer()),
  };
}
