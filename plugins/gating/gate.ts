import { GatewayError, type Call, type Middleware } from "propylon";
import { refusing, type FlagMap } from "./flags/flags.ts";

/** Refuses what is switched off before anything reaches its server. */
export function createGate(flags: () => FlagMap): Middleware {
  return (call, next) => {
    const what = refusing(flags(), call);
    return what === undefined ? next(call) : Promise.reject(refusal(what, call));
  };
}

function refusal(what: "server" | "tool", { server, name }: Call): GatewayError {
  return what === "server"
    ? new GatewayError("disabled", `The server "${server}" is switched off.`, {
        data: { server },
        hint: "An operator of the gateway can switch it on.",
      })
    : new GatewayError("disabled", `The tool "${name}" of "${server}" is switched off.`, {
        data: { server, tool: name },
        hint: "An operator of the gateway can switch it on.",
      });
}
