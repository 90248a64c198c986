import type { GatewayInfo } from "propylon";

/** Where a person reads: a terminal. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/**
 * Prints a link that signs in the person who opens it within 60 s, for the person at the terminal; nowhere else, since a log is
 * read by others and kept. The code is in the fragment, which no server and no proxy sees.
 *
 * @param publicUrl where people reach the gateway; default: its first listener
 */
export function printLink(
  info: Pick<GatewayInfo, "describe" | "dryRun">,
  createCode: () => string,
  publicUrl: string | undefined,
  screen: Screen = process.stdout,
): void {
  const { plugins, authenticators, listeners } = info.describe();
  const hasPage = plugins.some(({ name }) => name === "ui");
  if (info.dryRun || screen.isTTY !== true || !hasPage || authenticators.length === 0) return;
  const base = (publicUrl ?? listeners[0]!.url).replace(/\/$/, "");
  screen.write(`\nSign in (once, within 60 s): ${base}/ui/#code=${createCode()}\n`);
}
