/**
 * Whether a document may name an address that the gateway then talks to, with its operator's headers: one on the document's own
 * host, the same over TLS at most. Any other could reach inside the operator's network.
 *
 * @param url what the document names
 * @param document where the document is, or the operator said it is
 *
 * @example
 * if (!isSameHost(new URL(card.url), documentUrl)) throw new GatewayError("invalid", "The card names another host.");
 */
export function isSameHost(url: URL, document: URL): boolean {
  const isUpgrade = document.protocol === "http:" && url.protocol === "https:";
  return url.origin === document.origin || (isUpgrade && url.hostname === document.hostname);
}
