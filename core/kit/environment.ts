/** What a program needs to run at all. Nothing here can hold a secret or change which code it loads. */
const SAFE = new Set([
  "HOME",
  "LANG",
  "LANGUAGE",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "TMPDIR",
  "TZ",
  "USER",
]);

/** The same for Windows, where names are compared without case. */
const SAFE_WINDOWS = new Set([
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "TZ",
  "USERNAME",
  "USERPROFILE",
  "WINDIR",
]);

/**
 * The environment of every child, whatever it is: a short list of harmless variables of the gateway, and what is declared for
 * this child. The gateway's environment is never handed on, because it holds its own keys and the credentials of every other
 * server; `LD_*`, `DYLD_*`, `NODE_OPTIONS` and `PYTHONPATH` reach a child only when they are declared.
 *
 * @param declared for this child; wins over the inherited ones
 * @param own the environment of the gateway
 */
export function childEnvironment(
  declared: Readonly<Record<string, string>>,
  own: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && isSafe(name, value, platform)) environment[name] = value;
  }
  return Object.assign(environment, declared);
}

function isSafe(name: string, value: string, platform: NodeJS.Platform): boolean {
  // An exported shell function is code that an old bash would run (CVE-2014-6271).
  if (value.startsWith("()")) return false;
  if (platform === "win32") return SAFE_WINDOWS.has(name.toUpperCase());
  return SAFE.has(name) || name.startsWith("LC_");
}
