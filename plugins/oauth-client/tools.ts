import type { Call, PluginContext } from "propylon";
import { GatewayError } from "propylon";
import { z } from "zod";
import type { LoginAccounts, FoundAccount } from "./login/accounts.ts";
import type { LoginFlow } from "./login/login-flow.ts";
import type { McpServersService } from "propylon/plugins/servers";
import { loginNeeded } from "./provider/faults.ts";

/** What the tools work with. */
export interface ToolParts {
  readonly accounts: LoginAccounts;
  readonly flow: LoginFlow;
  readonly servers: McpServersService;
}

const one = z.object({ server: z.string().describe("Name of the server.") });

/** Tools with which people connect accounts of their own. */
export function registerTools(
  gateway: Pick<PluginContext, "tool">,
  { accounts, flow, servers }: ToolParts,
): void {
  gateway.tool("list_accounts", {
    description:
      "Lists the servers at which you use an account of your own, and whether it is connected.",
    annotations: { readOnlyHint: true },
    run: async (_args, { principal }) => ({ accounts: await flow.view(principal) }),
  });
  gateway.tool("connect_account", {
    description: "Connects your account at a server, so that its tools work for you.",
    input: one,
    async run({ server }, call) {
      const { account } = personal(accounts, server, call);
      if ((await account.tokens()) === undefined) {
        const answer = await account.login(call, loginNeeded(server, true));
        if (answer) return answer.result!;
      }
      servers.renew(server, call.principal);
      return `Your account at "${server}" is connected.`;
    },
  });
  gateway.tool("disconnect_account", {
    description: "Disconnects your account at a server, and ends what the gateway holds of it.",
    input: one,
    async run({ server }, call) {
      personal(accounts, server, call);
      const was = await flow.logOut(server, call.principal);
      return was
        ? `Your account at "${server}" is disconnected.`
        : `You had no account connected at "${server}".`;
    },
  });
}

function personal(accounts: LoginAccounts, name: string, { principal }: Call): FoundAccount {
  const found = accounts.find(name, principal.ref);
  if (found?.server.isPersonal) return found;
  const names = accounts.servers.filter(({ isPersonal }) => isPersonal).map((each) => each.name);
  throw new GatewayError("not_found", `At "${name}" nobody uses an account of their own.`, {
    hint: names.length === 0 ? "No server wants one." : `There are: ${names.join(", ")}.`,
  });
}
