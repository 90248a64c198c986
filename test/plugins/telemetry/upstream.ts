import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { fakeUpstream, type FakeUpstream } from "../../../core/testing/index.ts";

/** A server with the tools `t` and `broken`; it records what it is sent. */
export function serveUpstream(): Promise<FakeUpstream> {
  return fakeUpstream({
    t: () => "seen",
    broken: () => {
      throw new McpError(-32_050, "my-secret");
    },
  });
}

/** The trace context of the calls that a server was sent, from their headers and from their `_meta`. */
export function tracesOf({ calls }: FakeUpstream): readonly { header: unknown; meta: unknown }[] {
  return calls.map(({ headers, meta }) => ({
    header: headers["traceparent"],
    meta: meta?.["traceparent"],
  }));
}
