/** Something that the user of the command can put right: a sentence, and what to do next. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: number;

  /** @param code exit code; default 1, 130 for an interruption */
  constructor(message: string, code = 1) {
    super(message);
    this.code = code;
  }
}
