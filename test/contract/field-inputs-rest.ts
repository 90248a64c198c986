import { inFile, input, type FieldInput } from "./field-input.ts";

const documents = inFile("e2e/field/documents.long");
const largeDocuments = inFile("e2e/field/large-documents");
const signatures = inFile("e2e/field/signatures");
const config = inFile("e2e/field/config");
const agents = inFile("e2e/field/agents");
const admission = inFile("core/server/admission");
const shapes = inFile("plugins/agents-loop/provider-shapes");

/** What public reports about login, REST, agents and operation left, by the name of its folder. */
export const REST_INPUTS: Readonly<Record<string, FieldInput>> = {
  "rest-01-agents-same-call-id": input(
    agents(
      "rest-01: with the id %j each runs once, over MCP",
      "rest-01: each runs once, over HTTP",
      "rest-01: two calls of one tool keep their own arguments",
    ),
  ),
  "rest-02-output-schema-pattern": input(
    admission(
      "rest-02: an output schema that is no ECMAScript takes nobody's tools from the official client",
      "patternProperties",
      "$recursiveAnchor",
    ),
    inFile("plugins/rest/arguments")(
      "lists without items, doubled values, patterns and keywords that are none",
    ),
  ),
  "rest-03-rest-output-deviates": input(
    documents(
      "rest-03: %s arrives once, as it is, at both faces",
      "another type in a list of objects",
      "a text where a number is documented",
    ),
  ),
  "rest-04-stripe-output-schemas": input(
    largeDocuments(
      "rest-04: is listed and called by the official client, no answer described above 20 KB",
      "rest-04: so it is where the operator wants what the document says",
      "rest-04: so it is where arguments refer to each other, none much above 64 KiB",
    ),
    inFile("plugins/rest/bounds.long")(
      "JSON, 400 schemas that refer to each other, 300 operations",
      "lists that would be larger than anybody can read are refused with a sentence",
    ),
  ),
  "rest-05-form-encoding": input(
    documents("rest-05: %s", "maps within lists", "lists in one value", "JSON by its content type"),
  ),
  "rest-06-anthropic-schemas": input(
    inFile("plugins/agents-loop/provider-quirks")(
      "have safe keys and a plain object at the top: %s",
      "get the arguments of a call under their own keys",
      "are folded: %s",
      "are counted before they are sent: OpenAI takes 128",
    ),
  ),
  "rest-07-oauth-resource": input(
    inFile("plugins/oauth/targets")(
      "the origin with a slash",
      "nothing anywhere",
      "the endpoint, and later the origin",
      "the origin, where another endpoint takes keys only",
      "the origin, where there are several endpoints: its token is for the rest alone",
    ),
  ),
  "rest-08-expired-tokens-lock-out": input(
    inFile("plugins/oauth-resource/expired")(
      "%s: 14 people with one hold up nobody",
      "for somebody else",
      "of auth.jwt, likewise",
      "of the gateway's own that was taken back, likewise",
      "a token that is right gets in, and forged ones cost no more than some checks",
    ),
  ),
  "rest-09-gemini-thought-signature": input(
    signatures(
      "rest-09: goes back with its call, over MCP",
      "rest-09: goes back with its call, over HTTP",
      "rest-09: goes back with the first of two calls, which alone has one",
      "rest-09: goes back in every later turn",
    ),
    shapes("bugs-rest 6: the signature of a thought, whatever the provider is called, %s"),
  ),
  "rest-10-upstream-logins": input(
    inFile("plugins/oauth-client/in-the-wild.long")(
      "calls its tokens user (Slack)",
      "refuses with 200 (Slack)",
      "answers null for scope and refresh_token (Pydantic)",
      "names the path of its metadata",
      "supports S256 and does not say so, where the operator does (Entra ID)",
      "calls its tokens bot",
    ),
    inFile("plugins/servers/era")(
      "rest-10: a server that refuses newer revisions with %s is offered older ones",
    ),
  ),
  "rest-11-env-bom": input(
    config(
      "rest-11: the first variable of .env has its name, for the command line",
      "rest-11: so it has in a config that is marked, too, and in a running gateway",
      "rest-11: so it has in the file of propylon mcpo --env-path",
    ),
  ),
  "rest-12-nginx-host-port": input(
    config(
      "rest-12: with the port of publicUrl, as $http_host has it, is let in, and without it refused",
      "rest-12: without a port, where publicUrl has none, is let in as browsers write it",
      "rest-12: the recipe of nginx passes the port on, and who asked",
    ),
  ),
  "rest-13-sqlite-full": input(
    config("rest-13: calls go on, and the log says that it is full and nothing of undoing"),
    inFile("plugins/sqlite/file")(
      "rest-13: a transaction that a full file ends says why, and not that there is nothing to undo",
      "rest-13: a transaction over tables that a full file ends says why",
    ),
  ),
  "rest-14-provider-errors": input(
    inFile("e2e/field/provider-errors")(
      "rest-14: with %s tells the reason, over MCP",
      "rest-14: with %s tells the reason, over HTTP",
    ),
    shapes(
      "bugs-rest 14: is told of %s within a stream",
      "is short, and shows no key, page or endless nesting",
    ),
    inFile("plugins/agents-loop/models")(
      "bugs-rest 14: tells the error that it answers with status 200",
    ),
  ),
};
