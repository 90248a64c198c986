import { issuesOf, issueText, type ConfigIssue } from "../config/issue.ts";
import type { Config } from "../config/config.ts";
import type { CheckedConfig } from "../gateway/check/check.ts";
import { toGatewayError } from "../kit/errors.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { collectWarnings } from "../gateway/management/warnings.ts";
import { dryRun } from "../gateway/management/dry-run.ts";
import { EXIT } from "./exit.ts";
import { checkHere, loadHere } from "./source.ts";
import { whenSettled } from "./summary.ts";

/** How long a server may take to be reached that does not say it, in milliseconds. */
const PATIENCE_MS = 10_000;
/** Besides connecting, a server may wait for its turn to start, and for the child of a failed attempt to end, in milliseconds. */
const TURN_AND_END_MS = 15_000;

/** What a check found. */
interface Findings {
  readonly problems: ConfigIssue[];
  readonly warnings: ConfigIssue[];
  /** Problems of servers that did not answer. */
  readonly unreachable: ConfigIssue[];
}

/** Checks a config and prints one line for every problem. Returns the exit code. */
export async function check(
  file: string | undefined,
  options: { readonly connect?: boolean; readonly json?: boolean },
): Promise<number> {
  const findings = await find(file, options.connect ?? false);
  const { problems, unreachable } = findings;
  if (options.json)
    console.log(
      JSON.stringify({ ok: problems.length + unreachable.length === 0, ...findings }, null, 2),
    );
  else print(findings);
  if (problems.length > 0) return EXIT.invalid;
  return unreachable.length > 0 ? EXIT.unreachable : EXIT.ok;
}

async function find(file: string | undefined, connect: boolean): Promise<Findings> {
  const findings: Findings = { problems: [], warnings: [], unreachable: [] };
  try {
    const { config, cwd, warnings } = await loadHere(file);
    findings.warnings.push(...warnings);
    const checked = await checkHere(config, cwd);
    await findRunning(checked, cwd, connect, findings);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    const issues = issuesOf(error);
    if (issues.length === 0) throw thrown;
    findings.problems.push(...issues);
  }
  return findings;
}

/** Sets everything up without opening a port: finds what only shows between parts, such as two tools of one name. */
async function findRunning(
  checked: CheckedConfig,
  cwd: string,
  connect: boolean,
  findings: Findings,
): Promise<void> {
  const { config } = checked;
  let gateway: Gateway;
  try {
    gateway = await dryRun(checked, cwd, { connect });
  } catch (thrown) {
    const error = toGatewayError(thrown);
    const issues = issuesOf(error).filter(({ place }) => place !== undefined);
    if (issues.length > 0) return void findings.problems.push(...issues);
    const { message, hint, place } = error;
    const issue = config.place({ path: [], message, hint: hint ?? "Correct it and check again." });
    findings.problems.push(place ? { ...issue, place } : issue);
    return;
  }
  try {
    const slowest = [...gateway.servers.values()].map(({ patience = PATIENCE_MS }) => patience);
    if (connect) await whenSettled(gateway, Math.max(0, ...slowest) + TURN_AND_END_MS);
    report(gateway, config, findings);
  } finally {
    await gateway.close({ grace: 0 });
  }
}

function report(gateway: Gateway, config: Config, findings: Findings): void {
  const { servers } = gateway.describe();
  for (const { code, ...warning } of collectWarnings(gateway)) {
    const issue = config.place({ ...warning, at: "key" });
    (code === "left_out" ? findings.problems : findings.warnings).push(issue);
  }
  for (const { name, status } of servers) {
    if (
      status.state === "ready" ||
      !Object.hasOwn(config.values.servers, name) ||
      !config.values.servers[name]!.enabled ||
      status.state === "idle"
    )
      continue;
    const reason = status.reason ?? status.lastError ?? `it is still ${status.state}`;
    findings.unreachable.push(
      config.place({
        path: ["servers", name],
        at: "key",
        message: `The server "${name}" cannot be used: ${reason.replace(/([^.?!])$/, "$1.")}`,
        hint: "Start it, or correct its command, url or headers.",
      }),
    );
  }
}

function print({ problems, warnings, unreachable }: Findings): void {
  for (const issue of [...problems, ...unreachable]) console.error(issueText(issue));
  for (const issue of warnings) console.error(`${issueText(issue)} (warning)`);
  const count = problems.length + unreachable.length;
  if (count === 0) console.log("The config is right.");
  else console.error(`${count} problem${count === 1 ? "" : "s"}.`);
}
