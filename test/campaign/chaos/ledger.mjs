/** What was done to the servers, when; and what became of every call. An error is explained by a fault that it overlaps, or it is a finding. */

/** A server is given this long to be well again behind a fault, in milliseconds. */
const RECOVERY_MS = 10_000;

export class Ledger {
  /** @type {{ kind: string, server: string, from: number, to: number }[]} */
  faults = [];
  /** @type {{ server: string, from: number, to: number }[]} */
  replacements = [];
  counts = {};
  /** @type {string[]} */
  findings = [];
  /** Errors by what explains them. */
  explained = {};

  count(what, by = 1) {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }

  fault(kind, server) {
    const from = performance.now();
    const fault = { kind, server, from, to: Number.POSITIVE_INFINITY };
    this.faults.push(fault);
    this.count(`fault: ${kind}`);
    return { end: () => void (fault.to = performance.now() + RECOVERY_MS) };
  }

  /** A reload replaces a process while the old one ends its calls; only what a process keeps to itself is lost. */
  replaced(server) {
    const replacement = { server, from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.replacements.push(replacement);
    this.count("reloads");
    return { end: () => void (replacement.to = performance.now() + RECOVERY_MS) };
  }

  finding(words) {
    this.count("findings");
    if (this.findings.length < 50) this.findings.push(words);
  }

  /** An error of a call to `server` that began at `from`; `own` names what the client itself did, if it did anything. */
  error({ server, from, own, words }) {
    const now = performance.now();
    const meets = (each) => each.server === server && each.from <= now && each.to >= from;
    const fault = this.faults.find(meets);
    // The fixture signs its request state with a key of its process: the second round of a call came to the next one.
    const signed = words.includes("request state is not") && this.replacements.some(meets);
    // One session serves all clients: a question that no call can be named for is refused.
    const unclear = /does not tell to which|No call is in flight/i.test(words);
    // The hostile server garbles answers to calls of its own: those calls fail, and nobody else's.
    const garbled = server === "hostile" && words.includes("not a JSON-RPC message");
    const reason =
      own ??
      fault?.kind ??
      (unclear ? "question of unknown owner refused" : undefined) ??
      (garbled ? "garbled by its server" : undefined) ??
      (signed ? "state of a process that a reload replaced" : undefined);
    if (reason === undefined) return this.finding(`unexplained error of ${server}: ${words}`);
    this.explained[reason] = (this.explained[reason] ?? 0) + 1;
  }
}
