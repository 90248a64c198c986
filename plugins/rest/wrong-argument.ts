/** An argument that cannot be sent. The tool's own failure, said to the model so that it can try again. */
export class WrongArgument extends Error {
  override readonly name = "WrongArgument";
}
