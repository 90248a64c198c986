/**
 * Severities of `notifications/message` (RFC 5424 as MCP names them), least severe first.
 *
 * @example const sentence = `One of ${SEVERITIES.join(", ")}.`;
 */
export const SEVERITIES: readonly string[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/**
 * Place of a level among {@link SEVERITIES}; -1 for anything else.
 *
 * @param level of a stranger's message: not made text of, which throws for `{ "toString": 1 }`
 *
 * @example const isSevere = severityOf(params["level"]) >= severityOf("error");
 */
export function severityOf(level: unknown): number {
  return SEVERITIES.indexOf(level as string);
}
