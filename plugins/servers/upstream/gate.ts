/** Something to wait for, and what ends the wait. */
export class Gate {
  readonly promise: Promise<void>;
  #end!: () => void;

  constructor() {
    this.promise = new Promise((resolve) => (this.#end = resolve));
  }

  /** Lets everyone through. */
  end(): void {
    this.#end();
  }
}
