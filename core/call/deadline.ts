/** How long a call may run, in milliseconds. */
export interface Deadline {
  /** From its start to its end. */
  readonly total: number;
  /** Without any progress report; default: no bound. */
  readonly idle?: number;
}

/** How long a call may run as far as its tool, its server and the gateway say, in milliseconds; the first that is set counts. */
export interface Timeouts {
  /** `timeout` of a plugin's own tool. */
  readonly tool?: number;
  /** `servers.<name>.timeout`. */
  readonly server?: number;
  /** `timeouts.default`. */
  readonly default: number;
}
