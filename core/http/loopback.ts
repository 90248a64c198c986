/** Whether a listener's host can be reached from this machine only; what is not certain counts as reachable from others. */
export function isLoopback(host: string): boolean {
  return (
    host === "localhost" || host === "::1" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}
