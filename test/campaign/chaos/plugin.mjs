import { definePlugin } from "propylon";
import { z } from "zod";

/** A tool of the gateway's own. */
export default definePlugin({
  name: "chaos",
  setup(gateway) {
    gateway.tool("chaos_echo", {
      description: "Says its nonce.",
      input: z.object({ nonce: z.string() }),
      run: ({ nonce }) => nonce,
    });
  },
});
