import { gunzipSync } from "node:zlib";
import { files } from "#ui/assets";

// Vite made them one module, so that a bundled gateway has them without a folder beside it. Nothing here imports core: a bundler
// would make each of its modules a function, because this one is loaded late.
export { page } from "#ui/assets";
export { PAGE_HEADERS } from "./policy.ts";

/** A compression that a browser may take. */
export type Encoding = "br" | "gzip" | "identity";

/** Bytes of a file, in the encoding that was asked for. */
export interface AssetBody {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Reads a file of the pages.
 *
 * @returns `undefined` for a name that no file has
 */
export function readAsset(name: string, encoding: Encoding): AssetBody | undefined {
  if (!Object.hasOwn(files, name)) return undefined;
  const { type, br, gzip } = files[name]!;
  if (encoding === "br") return { type, bytes: decode(br) };
  const packed = decode(gzip);
  return { type, bytes: encoding === "gzip" ? packed : new Uint8Array(gunzipSync(packed)) };
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

/**
 * The best compression that a request accepts (RFC 9110 section 12.5.3). A quality of zero refuses one.
 *
 * @param header value of `Accept-Encoding`
 */
export function encodingOf(header: string | null): Encoding {
  const accepted = new Set(
    (header ?? "")
      .toLowerCase()
      .split(",")
      .filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
      .map((part) => part.split(";")[0]!.trim()),
  );
  return accepted.has("br") ? "br" : accepted.has("gzip") ? "gzip" : "identity";
}
