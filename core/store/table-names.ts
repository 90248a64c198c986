import {
  type AlterTableNode,
  type CreateIndexNode,
  IdentifierNode,
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryId,
  type QueryResult,
  type RawNode,
  type RootOperationNode,
  SchemableIdentifierNode,
  TableNode,
  type UnknownRow,
  WithSchemaPlugin,
} from "kysely";
import { GatewayError } from "../kit/errors.ts";

/** PostgreSQL cuts longer names without a word, and two tables would be one. */
const LONGEST_NAME = 63;

/**
 * Puts a prefix before every table and index that a query names. `WithSchemaPlugin` finds them, also behind aliases and common table
 * expressions, and gives them the prefix as a schema; here that becomes part of the name.
 */
export function prefixTables(prefix: string): readonly KyselyPlugin[] {
  const names = new TableNames(prefix);
  return [
    new WithSchemaPlugin(prefix),
    {
      transformQuery: ({ node, queryId }: PluginTransformQueryArgs): RootOperationNode =>
        names.transformNode(node, queryId),
      transformResult: ({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> =>
        Promise.resolve(result),
    },
  ];
}

class TableNames extends OperationNodeTransformer {
  readonly #prefix: string;

  constructor(prefix: string) {
    super();
    this.#prefix = prefix;
  }

  protected override transformSchemableIdentifier(
    node: SchemableIdentifierNode,
    queryId?: QueryId,
  ): SchemableIdentifierNode {
    const { schema, identifier } = super.transformSchemableIdentifier(node, queryId);
    if (schema?.name !== this.#prefix) return node;
    return SchemableIdentifierNode.create(this.#prefixed(identifier.name));
  }

  protected override transformCreateIndex(
    node: CreateIndexNode,
    queryId?: QueryId,
  ): CreateIndexNode {
    const name = IdentifierNode.create(this.#prefixed(node.name.name));
    return { ...super.transformCreateIndex(node, queryId), name };
  }

  /** Tables in SQL that somebody writes, by `sql.table(name)`. */
  protected override transformRaw(node: RawNode, queryId?: QueryId): RawNode {
    const parameters = node.parameters.map((each) =>
      TableNode.is(each) && !each.table.schema
        ? TableNode.create(this.#prefixed(each.table.identifier.name))
        : each,
    );
    return super.transformRaw({ ...node, parameters }, queryId);
  }

  /** The new name of a table has no schema in any dialect. */
  protected override transformAlterTable(node: AlterTableNode, queryId?: QueryId): AlterTableNode {
    const altered = super.transformAlterTable(node, queryId);
    const { renameTo } = node;
    if (!renameTo) return altered;
    const name = this.#prefixed(renameTo.table.identifier.name);
    return { ...altered, renameTo: TableNode.create(name) };
  }

  #prefixed(name: string): string {
    // A query within a query was made by the same tables, and has its names already.
    if (name.startsWith(this.#prefix)) return name;
    const whole = this.#prefix + name;
    if (whole.length <= LONGEST_NAME) return whole;
    throw new GatewayError("invalid", `The name ${name} of a table or index is too long.`, {
      hint: `Databases have room for ${LONGEST_NAME - this.#prefix.length} characters behind ${this.#prefix}.`,
    });
  }
}
