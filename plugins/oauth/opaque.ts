import { createHmac, timingSafeEqual } from "node:crypto";

/** Authenticates texts that go out and come back. A forged one is known without a look into the store. */
export class OpaqueTexts {
  readonly #secret: () => Buffer;
  readonly #prefix: string;

  /** @param prefix tells them apart, e.g. for secret scanners: `ppr_` */
  constructor(prefix: string, secret: () => Buffer) {
    this.#prefix = prefix;
    this.#secret = secret;
  }

  /** @param parts of letters, digits, `-` and `_`; without a dot */
  make(...parts: readonly string[]): string {
    const text = `${this.#prefix}${parts.join(".")}`;
    return `${text}.${this.#sign(text)}`;
  }

  /** The parts; `undefined` for anything that this gateway did not make. */
  read(text: string): readonly string[] | undefined {
    const end = text.lastIndexOf(".");
    if (text.length > 256 || end === -1 || !text.startsWith(this.#prefix)) return undefined;
    const body = text.slice(0, end);
    const [given, own] = [Buffer.from(text.slice(end + 1)), Buffer.from(this.#sign(body))];
    if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
    return body.slice(this.#prefix.length).split(".");
  }

  #sign(text: string): string {
    return createHmac("sha256", this.#secret()).update(text).digest("base64url");
  }
}
