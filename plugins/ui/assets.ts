import { gunzipSync } from "node:zlib";

/** A compression that a browser may take. */
export type Encoding = "br" | "gzip" | "identity";

/** The pages as Vite built them: one module, so that a bundled gateway has them without a folder beside it. */
export interface BuiltPages {
  readonly page: string;
  /** @returns `undefined` for a name that no file has */
  read(name: string, encoding: Encoding): AssetBody | undefined;
}

/** Bytes of a file, in the encoding that was asked for. */
export interface AssetBody {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

let loaded: Promise<BuiltPages> | undefined;

/** Reads the pages at the first request, since a gateway that nobody looks at should not hold them. */
export function loadPages(): Promise<BuiltPages> {
  return (loaded ??= importPages());
}

async function importPages(): Promise<BuiltPages> {
  const { page, files } = await import("#ui/assets");
  return {
    page,
    read(name, encoding) {
      if (!Object.hasOwn(files, name)) return undefined;
      const { type, br, gzip } = files[name]!;
      if (encoding === "br") return { type, bytes: decode(br) };
      const packed = decode(gzip);
      return { type, bytes: encoding === "gzip" ? packed : new Uint8Array(gunzipSync(packed)) };
    },
  };
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
