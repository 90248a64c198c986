import { useState, type ReactNode } from "react";
import type { Block, ToolResult } from "../pages/try/call.ts";
import { isObject } from "../form/schema.ts";
import { parseExact } from "../kit/json.ts";
import { formatJson, formatSize, toText, visible } from "../kit/words.ts";
import { Copy } from "./copy.tsx";
import { Passage, Words } from "./text.tsx";

/** Pieces of one result that are shown; more would stop the page. */
const MAX_BLOCKS = 200;
/** Rows of a table. */
const MAX_ROWS = 500;
/** Columns of a table. */
const MAX_COLUMNS = 12;

/** What a tool answered: its pieces as what they are, or all of it as JSON. */
export function Result({ result }: { readonly result: ToolResult }): ReactNode {
  const [isJson, setJson] = useState(false);
  const blocks = blocksOf(result);
  const { structuredContent } = result;
  const json = formatJson(result);
  return (
    <div className="result">
      <div className="row">
        <button
          type="button"
          className="quiet"
          data-effect="mode"
          aria-pressed={isJson}
          onClick={() => setJson(!isJson)}
        >
          {isJson ? "Show pieces" : "Show as JSON"}
        </button>
        <Copy text={json}>Copy JSON</Copy>
      </div>
      {isJson ? (
        <Passage text={json} label="Result as JSON" />
      ) : (
        <>
          {structuredContent !== undefined && <Value value={structuredContent} />}
          {blocks.slice(0, MAX_BLOCKS).map((block, index) => (
            // A result is never changed, so a place in it is an identity.
            <Piece
              key={`${index} ${block.type}`}
              block={block}
              label={blocks.length === 1 ? "Text" : `Text ${index + 1}`}
            />
          ))}
          {blocks.length > MAX_BLOCKS && (
            <p className="faint">{blocks.length - MAX_BLOCKS} more pieces: see the JSON.</p>
          )}
          {blocks.length === 0 && structuredContent === undefined && (
            <p className="faint">It answered nothing.</p>
          )}
        </>
      )}
    </div>
  );
}

/** The pieces of a tool's answer, the contents of a resource, or what is said in the messages of a prompt. */
function blocksOf({ content, contents, messages }: ToolResult): readonly Block[] {
  if (contents) return contents.map((resource) => ({ type: "resource", resource }));
  if (!messages) return content ?? [];
  return messages.flatMap(({ role, content: said }) => [
    { type: "role", text: `${role ?? "user"}:` },
    ...(said ? [said] : []),
  ]);
}

/** Only these can be shown from data without being able to do anything. */
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;

function Piece({ block, label }: { readonly block: Block; readonly label: string }): ReactNode {
  const { type, data = "", mimeType = "", text, resource } = block;
  if (type === "text") return <TextPiece text={text ?? ""} label={label} />;
  if (type === "role")
    return (
      <p className="faint">
        <Words>{text}</Words>
      </p>
    );
  if (type === "image" && IMAGES.test(mimeType))
    return <img src={`data:${mimeType};base64,${data}`} alt="Sent by the tool" />;
  if (type === "resource_link")
    return (
      <p className="piece">
        <Words>{block.name}</Words>{" "}
        <code>
          <Words>{block.uri}</Words>
        </code>
      </p>
    );
  if (type === "resource")
    return (
      <div className="piece">
        <code>
          <Words>{resource?.uri}</Words>
        </code>
        {resource?.text === undefined ? (
          <Bytes mimeType={resource?.mimeType} base64={resource?.blob} />
        ) : (
          <TextPiece text={resource.text} label={label} />
        )}
      </div>
    );
  return <Bytes mimeType={mimeType || type} base64={data} />;
}

function Bytes(props: {
  readonly mimeType: string | undefined;
  readonly base64: string | undefined;
}): ReactNode {
  return (
    <p className="piece">
      <Words>{props.mimeType ?? "bytes"}</Words>,{" "}
      {formatSize(((props.base64?.length ?? 0) * 3) / 4)}
    </p>
  );
}

/** Text that is JSON of rows is a table; other text stays text. */
function TextPiece(props: { readonly text: string; readonly label: string }): ReactNode {
  const { text, label } = props;
  const value = text.length < 1_048_576 && /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  return value === undefined ? <Passage text={text} label={label} /> : <Value value={value} />;
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

function Value({ value }: { readonly value: unknown }): ReactNode {
  const rows = rowsOf(value);
  if (!rows) return <Passage text={formatJson(value)} label="Value" />;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length > MAX_COLUMNS) return <Passage text={formatJson(value)} label="Value" />;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Rows of the result">
      <table className="cards-if-narrow">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column}>
                <Words>{column}</Words>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row, index) => (
            <tr key={`${index}`}>
              {columns.map((column) => (
                <td key={column} data-label={visible(column)}>
                  <Words>{toText(row[column])}</Words>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && (
        <p className="faint">{rows.length - MAX_ROWS} more rows: see the JSON.</p>
      )}
    </div>
  );
}

/** A list of objects, itself or as the only member of an object. */
function rowsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] | undefined {
  if (Array.isArray(value)) return value.length > 0 && value.every(isObject) ? value : undefined;
  if (!isObject(value)) return undefined;
  const members = Object.values(value);
  return members.length === 1 && Array.isArray(members[0]) ? rowsOf(members[0]) : undefined;
}
