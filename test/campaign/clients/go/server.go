package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type numbers struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func add(_ context.Context, _ *mcp.CallToolRequest, n numbers) (*mcp.CallToolResult, any, error) {
	return text("%g", n.A+n.B), nil, nil
}

func fail(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return nil, nil, fmt.Errorf("There is no city Atlantis.")
}

func slow(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	token := req.Params.GetProgressToken()
	for done := 1.0; token != nil && done <= 3; done++ {
		report := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 3}
		if err := req.Session.NotifyProgress(ctx, report); err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}

func ask(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
		Message: "What is your name?",
		RequestedSchema: &jsonschema.Schema{
			Type:       "object",
			Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}},
			Required:   []string{"name"},
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return text("hello %v", answer.Content["name"]), nil, nil
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "demo", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add"}, add)
	mcp.AddTool(server, &mcp.Tool{Name: "fail"}, fail)
	mcp.AddTool(server, &mcp.Tool{Name: "slow"}, slow)
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, ask)
	return server
}

func runServer(transport string) {
	if transport == "stdio" {
		log.Fatal(newServer().Run(context.Background(), &mcp.StdioTransport{}))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := newServer()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	fmt.Printf("{\"url\": \"http://%s/mcp\"}\n", listener.Addr())
	log.Fatal(http.Serve(listener, handler))
}
