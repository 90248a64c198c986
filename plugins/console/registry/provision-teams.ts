import { toGatewayError } from "propylon";
import { z } from "zod";
import { type ConsoleAccess, ConsoleApi } from "./console-api.ts";

/** Flags of `propylon console provision-teams`. */
export interface ProvisionFlags extends ConsoleAccess {
  readonly json?: boolean;
}

const instanceSchema = z.object({
  id: z.string(),
  name: z.string(),
  pallas_team_mnemosyne_status: z.string().nullable(),
  team_reason: z.string().nullable(),
  token: z.enum(["none", "unseen", "shown"]),
});
const listSchema = z.object({ instances: z.array(instanceSchema).max(1_000) });
const tokenSchema = z.object({ jwt: z.string() });
type Instance = z.output<typeof instanceSchema>;

/** What became of one instance. */
interface ProvisionRow {
  readonly id: string;
  readonly name: string;
  readonly outcome: "provisioned" | "skipped" | "failed";
  readonly jwt?: string;
  readonly reason?: string;
}

/**
 * Walks all instances and prints a row for each as soon as it is known: a token that was shown is not shown again, so none may be lost
 * to a failure further down.
 *
 * @returns the exit code
 * @throws {GatewayError} when the gateway cannot be used
 */
export async function provisionTeams(flags: ProvisionFlags): Promise<number> {
  const api = new ConsoleApi(flags);
  try {
    const { instances } = await api.ask("GET", "", listSchema);
    if (!flags.json) console.log(line("instance", "outcome", "name", "token"));
    let failed = 0;
    for (const instance of instances) {
      const row = await provision(api, instance);
      if (row.outcome === "failed") failed++;
      console.log(flags.json ? JSON.stringify(row) : toLine(row));
    }
    return failed === 0 ? 0 : 1;
  } finally {
    await api.close();
  }
}

/** One that is provisioned and whose token was shown is left alone. */
async function provision(api: ConsoleApi, instance: Instance): Promise<ProvisionRow> {
  const { id, name } = instance;
  const isProvisioned = instance.pallas_team_mnemosyne_status === "provisioned";
  if (isProvisioned && instance.token === "shown") return { id, name, outcome: "skipped" };
  try {
    const now = isProvisioned
      ? instance
      : await api.ask("POST", `/${id}/provision`, instanceSchema);
    if (now.pallas_team_mnemosyne_status !== "provisioned")
      return { id, name, outcome: "failed", reason: now.team_reason ?? "" };
    if (now.token !== "unseen") return { id, name, outcome: "skipped" };
    const { jwt } = await api.ask("POST", `/${id}/reveal`, tokenSchema);
    return { id, name, outcome: "provisioned", jwt };
  } catch (error) {
    return { id, name, outcome: "failed", reason: toGatewayError(error).message };
  }
}

function toLine({ id, outcome, name, jwt, reason }: ProvisionRow): string {
  return line(id, outcome, name, jwt ?? reason ?? "");
}

function line(id: string, outcome: string, name: string, last: string): string {
  return `${id.padEnd(36)}  ${outcome.padEnd(11)}  ${name.padEnd(24)}  ${last}`.trimEnd();
}
