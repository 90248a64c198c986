import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;

final class DemoClient {
  private static final AtomicInteger REPORTS = new AtomicInteger();

  private DemoClient() {}

  static void run() throws Exception {
    McpSyncClient client;
    try {
      client = connect(System.getenv("GATEWAY_KEY"));
    } catch (Exception error) {
      tell("connect", "no", words(error));
      return;
    }
    tell("connect", "yes", "");
    McpSyncClient own = client;
    check("list", "all", () -> list(own));
    check("call", "5", () -> call(own, "add", Map.of("a", 2, "b", 3)));
    check("error", "Atlantis", () -> call(own, "fail", Map.of()));
    check("progress", "3", () -> progress(own));
    check("question", "hello Ada", () -> call(own, "ask", Map.of()));
    System.out.println("{\"restart\": true}");
    new BufferedReader(new InputStreamReader(System.in)).readLine();
    check("restart", "50", () -> again(() -> call(own, "add", Map.of("a", 20, "b", 30))));
    try {
      connect("wrong");
      tell("key", "no", "no error");
    } catch (Exception error) {
      boolean clear = words(error).matches("(?is).*(401|unauthorized|authorization error|api key).*");
      tell("key", clear ? "yes" : "no", clear ? "" : words(error));
    }
    System.exit(0);
  }

  private static McpSyncClient connect(String key) {
    URI url = URI.create(System.getenv("GATEWAY_URL"));
    var transport =
        HttpClientStreamableHttpTransport.builder(url.getScheme() + "://" + url.getAuthority())
            .endpoint(url.getPath())
            .requestBuilder(HttpRequest.newBuilder().header("Authorization", "Bearer " + key))
            .build();
    var answer = new McpSchema.ElicitResult(McpSchema.ElicitResult.Action.ACCEPT, Map.of("name", "Ada"));
    McpSyncClient client =
        McpClient.sync(transport)
            .requestTimeout(Duration.ofSeconds(60))
            .capabilities(McpSchema.ClientCapabilities.builder().elicitation().build())
            .elicitation(request -> answer)
            .progressConsumer(report -> REPORTS.incrementAndGet())
            .build();
    client.initialize();
    return client;
  }

  /** As a program does: the call that finds the session gone fails, and the SDK begins a new one for the next. */
  private static String again(Callable<String> work) throws Exception {
    try {
      return work.call();
    } catch (RuntimeException error) {
      if (!words(error).contains("session")) throw error;
      return work.call();
    }
  }

  private static String list(McpSyncClient client) {
    List<String> names = client.listTools().tools().stream().map(McpSchema.Tool::name).toList();
    return names.containsAll(List.of("add", "fail", "slow", "ask")) ? "all" : names.toString();
  }

  private static String call(McpSyncClient client, String name, Map<String, Object> args) {
    var request = McpSchema.CallToolRequest.builder(name).arguments(args).progressToken(name).build();
    return client.callTool(request).content().toString();
  }

  private static String progress(McpSyncClient client) throws InterruptedException {
    call(client, "slow", Map.of());
    // Notifications have a thread of their own, which may run behind the answer.
    for (int left = 100; left > 0 && REPORTS.get() < 3; left--) Thread.sleep(20);
    return String.valueOf(REPORTS.get());
  }

  private static void check(String cell, String expected, Callable<String> work) {
    try {
      String said = work.call();
      boolean ok = said.contains(expected);
      tell(cell, ok ? "yes" : "no", ok ? "" : "got " + said);
    } catch (Exception error) {
      tell(cell, "no", words(error));
    }
  }

  private static String words(Throwable error) {
    String cause = error.getCause() == null ? "" : " <- " + words(error.getCause());
    return error + cause;
  }

  private static void tell(String cell, String result, String detail) {
    String safe = detail.replaceAll("[\"\\\\\\p{Cntrl}]", " ");
    System.out.printf("{\"cell\": \"%s\", \"result\": \"%s\", \"detail\": \"%s\"}%n", cell, result, safe);
  }
}
