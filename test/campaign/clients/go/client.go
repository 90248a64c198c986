package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a key with every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

var reports atomic.Int32

func tell(cell, result, detail string) {
	line, _ := json.Marshal(map[string]string{"cell": cell, "result": result, "detail": detail})
	fmt.Println(string(line))
}

func connect(ctx context.Context, key string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			reports.Add(1)
		},
	})
	transport := &mcp.StreamableClientTransport{
		Endpoint:   os.Getenv("GATEWAY_URL"),
		HTTPClient: &http.Client{Transport: bearer{key}},
	}
	return client.Connect(ctx, transport, nil)
}

func call(ctx context.Context, session *mcp.ClientSession, name string, args map[string]any) (string, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken(name)
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range result.Content {
		if own, ok := part.(*mcp.TextContent); ok {
			text.WriteString(own.Text)
		}
	}
	return text.String(), nil
}

// check tells whether what a call said has the words that it should.
func check(cell, words, said string, err error) {
	switch {
	case err != nil:
		tell(cell, "no", err.Error())
	case strings.Contains(said, words):
		tell(cell, "yes", "")
	default:
		tell(cell, "no", "got "+said)
	}
}

func list(ctx context.Context, session *mcp.ClientSession) (string, error) {
	result, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	offered := map[string]bool{}
	for _, tool := range result.Tools {
		offered[tool.Name] = true
	}
	for _, name := range []string{"add", "fail", "slow", "ask"} {
		if !offered[name] {
			return "without " + name, nil
		}
	}
	return "all", nil
}

func progress(ctx context.Context, session *mcp.ClientSession) (string, error) {
	_, err := call(ctx, session, "slow", nil)
	// Notifications have a handler of their own, which may run behind the answer.
	for left := 100; left > 0 && reports.Load() < 3; left-- {
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Sprint(reports.Load()), err
}

func runClient() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	session, err := connect(ctx, os.Getenv("GATEWAY_KEY"))
	if err != nil {
		tell("connect", "no", err.Error())
		os.Exit(1)
	}
	tell("connect", "yes", "")
	said, err := list(ctx, session)
	check("list", "all", said, err)
	said, err = call(ctx, session, "add", map[string]any{"a": 2, "b": 3})
	check("call", "5", said, err)
	said, err = call(ctx, session, "fail", nil)
	check("error", "Atlantis", said, err)
	said, err = progress(ctx, session)
	check("progress", "3", said, err)
	said, err = call(ctx, session, "ask", nil)
	check("question", "hello Ada", said, err)

	fmt.Println(`{"restart": true}`)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	said, err = call(ctx, session, "add", map[string]any{"a": 20, "b": 30})
	// As a program does: the SDK leaves it to its user to begin anew where the session is gone.
	if errors.Is(err, mcp.ErrSessionMissing) {
		if session, err = connect(ctx, os.Getenv("GATEWAY_KEY")); err == nil {
			said, err = call(ctx, session, "add", map[string]any{"a": 20, "b": 30})
		}
	}
	check("restart", "50", said, err)

	_, err = connect(ctx, "wrong")
	if err == nil {
		tell("key", "no", "no error")
	} else {
		check("key", "nauthorized", err.Error(), nil)
	}
}
