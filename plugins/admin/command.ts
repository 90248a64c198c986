import { GatewayError } from "propylon";
import type { AdminOptions } from "./options.ts";

/** Programs that run code from their arguments. */
const INTERPRETERS =
  /^(?:(?:ba|da|k|z|c|tc|fi)?sh|pwsh|powershell|cmd|node|nodejs|deno|bun|bunx|npx|npm|pnpm|yarn|tsx|python[\d.]*|pypy[\d.]*|uv|uvx|perl[\d.]*|ruby[\d.]*|php[\d.]*|lua[\d.]*|tclsh|osascript|awk|gawk)(?:\.exe|\.cmd)?$/i;

/** Arguments that hold code or name a file to load first: `-c`, `-lc`, `-e`, `-pe`, `-r`, `--eval`, `/c` ... */
const INLINE_CODE =
  /^(?:-[a-z]{0,2}[ce].*|-[a-z]{0,2}[pr]|--(?:eval|print|command|call|exec|execute|require|import|loader|run)(?:=.*)?|\/[ck]|eval|exec)$/i;

/**
 * Refuses a command that the API may not add: what is added here runs on this machine with the rights of the gateway. Only argument lists exist, so no shell ever reads them.
 *
 * @throws {GatewayError} `invalid`
 */
export function checkCommand(argv: readonly string[], options: AdminOptions): void {
  if (runsInlineCode(argv))
    throw refusal("A command may not bring code in its arguments (such as -c or -e).", {
      hint: "Put the code into a file of its own, or the server into the config file.",
    });
  if (options.allowUnsafeCommands || options.allowedCommands.some((known) => isSame(known, argv)))
    return;
  throw refusal("This command is not on the list of commands that may be added.", {
    hint: "Add it to plugins.admin.allowedCommands, word for word, or put the server into the config file.",
  });
}

/** Looks behind wrappers too: `env sh -c ...`. */
function runsInlineCode(argv: readonly string[]): boolean {
  const at = argv.findIndex((word) => INTERPRETERS.test(word.split(/[\\/]/).at(-1)!));
  return at >= 0 && argv.slice(at + 1).some((word) => INLINE_CODE.test(word));
}

function isSame(known: readonly string[], argv: readonly string[]): boolean {
  return known.length === argv.length && known.every((word, index) => word === argv[index]);
}

function refusal(message: string, { hint }: { readonly hint: string }): GatewayError {
  return new GatewayError("invalid", message, {
    hint,
    data: { issues: [{ path: "command", message }] },
  });
}
