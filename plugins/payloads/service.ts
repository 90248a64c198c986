import { defineService } from "propylon";

/** What is known of a stored payload. */
export interface PayloadInfo {
  /** UTF-8 bytes before compression. */
  readonly size: number;
  /** Bytes as stored. */
  readonly stored: number;
  readonly mimeType: string;
  /** `ref` of the principal that owns it. */
  readonly owner: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601; absent = until it is deleted. */
  readonly expiresAt?: string;
}

/** Texts and bytes kept compressed. */
export interface PayloadStore {
  /**
   * Compresses off the event loop and keeps; replaces what was there under this id.
   * @param content text is UTF-8; an empty text is a payload of 0 bytes
   * @throws {GatewayError} `too_large` when it, or all payloads together, would be above the limit
   */
  put(
    id: string,
    content: string | Uint8Array,
    options: { readonly owner: string; readonly mimeType?: string; readonly ttl?: number },
  ): Promise<PayloadInfo>;
  /** Adds to the end; makes the payload when there is none. */
  append(
    id: string,
    content: string | Uint8Array,
    options: { readonly owner: string; readonly mimeType?: string; readonly ttl?: number },
  ): Promise<PayloadInfo>;
  /** What this gateway knows; it hears of payloads of other replicas of its store in a moment. */
  info(id: string): PayloadInfo | undefined;
  /**
   * The same, and looks in the store that several replicas share where this one knows of none.
   * @throws {GatewayError} `unavailable`
   */
  find(id: string): Promise<PayloadInfo | undefined>;
  /** The gzip bytes. */
  gzip(id: string): Promise<Uint8Array | undefined>;
  /** Bytes `from` (inclusive) to `to` (exclusive) of the uncompressed content. */
  slice(id: string, from: number, to: number): Promise<Uint8Array | undefined>;
  delete(id: string): Promise<boolean>;
  /** Where a client can fetch it. */
  url(id: string): string;
}

/** Service token of the payloads plugin. */
export const Payloads = defineService<PayloadStore>("payloads");
