import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

final class DemoServer {
  private static final Map<String, Object> NOTHING = Map.of("type", "object", "properties", Map.of());
  private static final Map<String, Object> NUMBERS =
      Map.of(
          "type", "object",
          "properties", Map.of("a", Map.of("type", "number"), "b", Map.of("type", "number")),
          "required", List.of("a", "b"));
  private static final Map<String, Object> NAME =
      Map.of("type", "object", "properties", Map.of("name", Map.of("type", "string")), "required", List.of("name"));

  private DemoServer() {}

  static void run(String transport) throws Exception {
    if (transport.equals("stdio")) {
      withTools(McpServer.sync(new StdioServerTransportProvider(McpJsonDefaults.getMapper()))).build();
      Thread.currentThread().join();
    }
    var servlet = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
    withTools(McpServer.sync(servlet)).build();
    Server http = new Server();
    ServerConnector connector = new ServerConnector(http);
    connector.setHost("127.0.0.1");
    http.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler();
    ServletHolder holder = new ServletHolder(servlet);
    holder.setAsyncSupported(true);
    context.addServlet(holder, "/mcp");
    http.setHandler(context);
    http.start();
    System.out.printf("{\"url\": \"http://127.0.0.1:%d/mcp\"}%n", connector.getLocalPort());
    http.join();
  }

  private static <S extends McpServer.SyncSpecification<S>> McpServer.SyncSpecification<S> withTools(
      McpServer.SyncSpecification<S> server) {
    return server
        .serverInfo("demo", "1.0.0")
        .capabilities(McpSchema.ServerCapabilities.builder().tools(true).build())
        .toolCall(tool("add", NUMBERS), DemoServer::add)
        .toolCall(tool("fail", NOTHING), (exchange, request) -> text("There is no city Atlantis.", true))
        .toolCall(tool("slow", NOTHING), DemoServer::slow)
        .toolCall(tool("ask", NOTHING), DemoServer::ask);
  }

  private static McpSchema.Tool tool(String name, Map<String, Object> schema) {
    return McpSchema.Tool.builder().name(name).inputSchema(schema).build();
  }

  private static CallToolResult text(String words, boolean isError) {
    return CallToolResult.builder().addTextContent(words).isError(isError).build();
  }

  private static CallToolResult add(McpSyncServerExchange exchange, CallToolRequest request) {
    Number a = (Number) request.arguments().get("a");
    Number b = (Number) request.arguments().get("b");
    return text(String.valueOf(Math.round(a.doubleValue() + b.doubleValue())), false);
  }

  private static CallToolResult slow(McpSyncServerExchange exchange, CallToolRequest request) {
    Object token = request.progressToken();
    if (token != null)
      for (int done = 1; done <= 3; done++)
        exchange.progressNotification(new McpSchema.ProgressNotification(token, done, 3.0, null));
    return text("done", false);
  }

  private static CallToolResult ask(McpSyncServerExchange exchange, CallToolRequest request) {
    var question = McpSchema.ElicitRequest.builder("What is your name?", NAME).build();
    var answer = exchange.createElicitation(question);
    return text("hello " + answer.content().get("name"), false);
  }
}
