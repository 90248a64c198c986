/**
 * How long another replica may take to answer, in milliseconds, by what it is asked. One that died is noticed within 6 seconds and
 * ends what asked it; these are for one that stands still, and for messages that a broken connection lost. Streams have none: they end
 * with the replica.
 *
 * @example const figures = await askOnce(store, replica, { topic: "figures", body: {}, schema, timeout: ASK_TIMEOUTS.look });
 */
export const ASK_TIMEOUTS = {
  /** To show something: figures, calls in flight, the state of a task. A page waits for it, and is useful without it. */
  look: 2_000,
  /** To say that a switch is in force there. It is written and comes into force anyway, so nobody is held up for long. */
  agree: 2_000,
  /** To take in what a client sends to a call that waits for it. It is handed on at once, so this is for a busy replica. */
  deliver: 10_000,
  /** To end a task or an agent, which is answered when nothing of it goes on and the store has its end. */
  end: 30_000,
  /** To do something with a server that it runs, but a call, which has a timeout of its own. The server may have to start first. */
  serve: 30_000,
} as const;
