// Signs a person in with go-oidc and x/oauth2, refreshes, reads userinfo and signs out, for a test.
//
// It gets an issuer, a client, its secret and two addresses to return to, prints where a browser goes, reads where it came
// back to, prints what it learned as a line of JSON, and where a browser goes to sign out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	issuer, client, secret, callback := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	provider := must(oidc.NewProvider(ctx, issuer))
	config := oauth2.Config{
		ClientID: client, ClientSecret: secret, RedirectURL: callback,
		Endpoint: provider.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "email"},
	}
	verifier := oauth2.GenerateVerifier()
	fmt.Println(config.AuthCodeURL("a state", oidc.Nonce("a nonce"), oauth2.S256ChallengeOption(verifier)))

	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	back := must(url.Parse(lines.Text())).Query()
	first := must(config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier)))
	verify := func(token *oauth2.Token) *oidc.IDToken {
		raw, _ := token.Extra("id_token").(string)
		idToken := must(provider.Verifier(&oidc.Config{ClientID: client}).Verify(ctx, raw))
		if err := idToken.VerifyAccessToken(token.AccessToken); err != nil {
			log.Fatal(err)
		}
		return idToken
	}
	idToken := verify(first)
	if back.Get("state") != "a state" || idToken.Nonce != "a nonce" {
		log.Fatal("another sign-in")
	}
	old := *first
	old.Expiry = time.Now().Add(-time.Hour)
	second := must(config.TokenSource(ctx, &old).Token())
	told := must(provider.UserInfo(ctx, oauth2.StaticTokenSource(second)))
	fmt.Println(string(must(json.Marshal(map[string]any{
		"sub":   idToken.Subject,
		"again": verify(second).Subject, "email": told.Email, "verified": told.EmailVerified,
	}))))
	var server struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := provider.Claims(&server); err != nil {
		log.Fatal(err)
	}
	hint, _ := second.Extra("id_token").(string)
	asked := url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {os.Args[5]}, "state": {"over & out"}}
	fmt.Println(server.EndSession + "?" + asked.Encode())
}
