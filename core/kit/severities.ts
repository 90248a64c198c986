/**
 * Severities of `notifications/message` (RFC 5424 as MCP names them), least severe first.
 *
 * @example const isSevere = SEVERITIES.indexOf(level) >= SEVERITIES.indexOf("error");
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
