import type { Answer, Call } from "propylon";

/** A call from its beginning until it is written down. Instants are those of `performance.now()`. */
export class Running {
  readonly call: Call;
  readonly started = performance.now();
  /** When it left for its server. */
  sent: number | undefined = undefined;
  /** Progress reports that were passed on. */
  progress = 0;
  ended = 0;
  end: Answer | Error | undefined = undefined;

  constructor(call: Call) {
    this.call = call;
  }

  /** The call with its progress reports counted; only made where somebody asked for them. */
  counted(): Call {
    const { progress } = this.call;
    return {
      ...this.call,
      progress: (report) => {
        this.progress++;
        progress!(report);
      },
    };
  }
}
