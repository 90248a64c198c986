import { importOptional } from "propylon/kit";

/** Whose requests they are, and for which region they are signed. */
export interface Signer {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** A request to be signed; `at` is its time, by default now. */
export interface SignableRequest {
  readonly method: string;
  readonly url: URL;
  readonly at?: Date;
}

/**
 * Imports the library when it is needed.
 * @throws {GatewayError} `invalid` when it is not installed
 */
export async function loadSigner(): Promise<typeof import("aws4fetch").AwsV4Signer> {
  const { AwsV4Signer } = await importOptional(
    () => import("aws4fetch"),
    "Payloads in a bucket need the package aws4fetch.",
    ["aws4fetch"],
  );
  return AwsV4Signer;
}

/**
 * Signs a request (AWS Signature Version 4).
 *
 * @param digest SHA-256 of the body in hexadecimal
 * @param headers that are signed with it. Those that proxies change, such as `accept-encoding`, must not be
 * @returns all headers that it is sent with, names in lower case
 */
export async function signHeaders(
  signer: Signer,
  { method, url, at }: SignableRequest,
  digest: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const V4Signer = await loadSigner();
  const signed = await new V4Signer({
    ...common(signer, at),
    method,
    url: url.href,
    headers: { ...headers, "x-amz-content-sha256": digest },
    allHeaders: true,
  }).sign();
  return Object.fromEntries(signed.headers);
}

/**
 * A URL that anybody who has it may use for a time.
 *
 * @param seconds how long
 */
export async function signUrl(
  signer: Signer,
  { method, url, at }: SignableRequest,
  seconds: number,
): Promise<string> {
  const V4Signer = await loadSigner();
  const target = new URL(url);
  target.searchParams.set("X-Amz-Expires", String(seconds));
  const options = { ...common(signer, at), method, url: target.href, signQuery: true };
  const signed = await new V4Signer(options).sign();
  // The signature is that of %20; + means a space to forms alone.
  signed.url.search = signed.url.search.replaceAll("+", "%20");
  return signed.url.href;
}

function common(
  { sessionToken, ...signer }: Signer,
  at = new Date(),
): Signer & { readonly service: string; readonly datetime: string; sessionToken?: string } {
  return {
    region: signer.region,
    accessKeyId: signer.accessKeyId,
    secretAccessKey: signer.secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: "s3",
    datetime: at.toISOString().replaceAll(/[-:]|\.\d{3}/g, ""),
  };
}
