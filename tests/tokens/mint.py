"""Mints the tokens of tokens.json with joserfc, which shares no code with what verifies them.

    tests/third_party/.cache/venv/bin/python tests/tokens/mint.py > tests/tokens/tokens.json

`--check` exits with 1 unless tokens.json is what this mints, but for keys and signatures.

Each token has the outcome that is expected: "ok", or the variant of `TokenError` (`DpopError` for proofs). Keys are
new in every run; times are fixed, so that the tests choose the time that it is.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import sys

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

NOW = 2_000_000_000
ISSUER = "https://issuer.example/tenant"
RESOURCE = "https://mcp.example/mcp"
ALL = ["RS256", "PS256", "ES256", "EdDSA", "RS384", "PS384", "ES384", "RS512", "PS512"]


def b64(data):
    if not isinstance(data, bytes):
        data = data.encode() if isinstance(data, str) else json.dumps(data, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


KEYS = {
    "rsa": RSAKey.generate_key(2048),
    "ec": ECKey.generate_key("P-256"),
    "ec384": ECKey.generate_key("P-384"),
    "ed": OKPKey.generate_key("Ed25519"),
    "rsa1024": RSAKey.generate_key(1024),
    "rsa-rs256-only": RSAKey.generate_key(2048),
    "foreign": ECKey.generate_key("P-256"),
}
KEY_OF = {"RS": "rsa", "PS": "rsa", "ES256": "ec", "ES384": "ec384", "EdDSA": "ed"}


def public(name, **more):
    return {**KEYS[name].as_dict(private=False), "kid": name, **more}


def key_for(alg):
    return KEY_OF.get(alg) or KEY_OF[alg[:2]]


def sign_bytes(header, payload, name):
    """Signs any header, with parameters that joserfc would refuse to write: it signs, the segments are ours."""
    alg = JWSRegistry.algorithms["EdDSA" if header["alg"] == "Ed25519" else header["alg"]]
    signing_input = f"{b64(header)}.{b64(payload)}"
    return f"{signing_input}.{b64(alg.sign(signing_input.encode(), KEYS[name]))}"


def claims(**more):
    base = {
        "iss": ISSUER,
        "sub": "alice",
        "aud": RESOURCE,
        "client_id": "client-1",
        "scope": "notes:read notes:write",
        "iat": NOW - 10,
        "exp": NOW + 3600,
    }
    return {key: value for key, value in {**base, **more}.items() if value is not None}


def plain(alg="ES256", header=None, **more):
    """A token by joserfc's own API."""
    name = key_for(alg)
    protected = {"alg": alg, "typ": "at+jwt", "kid": name, **(header or {})}
    payload = json.dumps(claims(**more))
    return jws.serialize_compact(protected, payload, KEYS[name], algorithms=[alg])


def odd(header=None, payload=None, key="ec", **more):
    """A token with members that joserfc would refuse to write."""
    protected = {"alg": "ES256", "typ": "at+jwt", "kid": key, **(header or {})}
    protected = {name: value for name, value in protected.items() if value is not None}
    return sign_bytes(protected, payload if payload is not None else claims(**more), key)


def hs256(secret, header=None):
    signing_input = f"{b64({'alg': 'HS256', 'typ': 'at+jwt', 'kid': 'rsa', **(header or {})})}.{b64(claims())}"
    return f"{signing_input}.{b64(hmac.new(secret, signing_input.encode(), hashlib.sha256).digest())}"


def flipped(token, at=-1):
    """The token with one bit of its signature (or of the payload) changed."""
    segments = token.split(".")
    data = bytearray(base64.urlsafe_b64decode(segments[at] + "=="))
    data[len(data) // 2] ^= 1
    segments[at] = b64(bytes(data))
    return ".".join(segments)


def with_signature(token, change):
    head, _, signature = token.rpartition(".")
    return f"{head}.{b64(change(base64.urlsafe_b64decode(signature + '==')))}"


def tokens():
    for alg in ALL:
        yield f"{alg}", plain(alg), "ok"
        yield f"{alg} tampered signature", flipped(plain(alg)), "BadSignature"
        yield f"{alg} tampered payload", flipped(plain(alg, sub="alice" * 40), 1), "refused"
        yield f"{alg} shorter signature", with_signature(plain(alg), lambda s: s[:-1]), "BadSignature"
        yield f"{alg} longer signature", with_signature(plain(alg), lambda s: s + b"\0"), "BadSignature"
        yield f"{alg} no signature", with_signature(plain(alg), lambda s: b""), "BadSignature"
        yield f"{alg} zero signature", with_signature(plain(alg), lambda s: bytes(len(s))), "BadSignature"

    yield "Ed25519 by its new name", odd({"alg": "Ed25519", "kid": "ed"}, key="ed"), "ok"
    yield "typ JWT", plain(header={"typ": "JWT"}), "ok"
    yield "typ application/at+jwt", plain(header={"typ": "application/at+jwt"}), "ok"
    yield "typ absent", odd({"typ": None}), "ok"
    yield "aud in a list", plain(aud=["https://other.example", RESOURCE]), "ok"
    yield "aud with a slash", plain(aud=RESOURCE + "/"), "ok"
    yield "aud with a host in upper case", plain(aud=RESOURCE.replace("mcp.example", "MCP.Example")), "ok"
    yield "exp with a fraction", plain(exp=NOW + 3600.5), "ok"
    yield "expired within the leeway", plain(exp=NOW - 30), "ok"
    yield "nbf within the leeway", plain(nbf=NOW + 30), "ok"
    yield "scp in a list", plain(scope=None, scp=["notes:read", "notes:write"]), "ok"
    yield "scp as a string", plain(scope=None, scp="notes:read notes:write"), "ok"
    yield "azp as client", plain(client_id=None, azp="client-1"), "ok"
    yield "no sub", plain(sub=None), "ok"
    yield "kid absent, one key fits", odd({"alg": "EdDSA", "kid": None}, key="ed"), "ok"
    yield "jku is not followed", odd({"jku": "https://evil.example/jwks"}), "ok"
    yield "x5u is not followed", odd({"x5u": "https://evil.example/cert"}), "ok"
    yield "bound to a DPoP key", plain(cnf={"jkt": KEYS["ec"].thumbprint()}), "ok"
    yield "bound to a certificate", plain(cnf={"x5t#S256": b64(bytes(32))}), "ok"
    yield "nonce in an access token", plain(nonce="n"), "ok"

    none = f"{b64({'alg': 'none', 'typ': 'at+jwt'})}.{b64(claims())}."
    yield "alg none", none, "Algorithm"
    yield "alg none with a signature", none + "c2ln", "Algorithm"
    for name in ["None", "NONE", "nOnE", ""]:
        yield f"alg {name!r}", f"{b64({'alg': name})}.{b64(claims())}.", "Algorithm"
    yield "alg absent", f"{b64({'typ': 'at+jwt'})}.{b64(claims())}.c2ln", "Algorithm"
    yield "alg a list", f"{b64({'alg': ['ES256']})}.{b64(claims())}.c2ln", "Malformed"
    pem = KEYS["rsa"].as_pem(private=False)
    yield "HS256 with the public key as PEM", hs256(pem), "Algorithm"
    yield "HS256 with the public key as DER", hs256(KEYS["rsa"].as_der(private=False)), "Algorithm"
    yield "HS256 with the public key as JSON", hs256(json.dumps(public("rsa")).encode()), "Algorithm"
    yield "HS256 with an empty secret", hs256(b""), "Algorithm"

    yield "crit unknown", odd({"crit": ["exp2"], "exp2": 1}), "Critical"
    yield "crit b64", odd({"crit": ["b64"], "b64": True}), "Critical"
    yield "crit empty", odd({"crit": []}), "Critical"
    yield "crit null", odd_null_crit(), "Critical"
    foreign = KEYS["foreign"].as_dict(private=False)
    yield "embedded jwk", sign_bytes({"alg": "ES256", "typ": "at+jwt", "jwk": foreign}, claims(), "foreign"), "refused"
    yield "embedded jwk with a known kid", sign_bytes(
        {"alg": "ES256", "typ": "at+jwt", "kid": "ec", "jwk": foreign}, claims(), "foreign"
    ), "BadSignature"
    yield "jku of the attacker", sign_bytes(
        {"alg": "ES256", "typ": "at+jwt", "kid": "evil", "jku": "https://evil.example/jwks"}, claims(), "foreign"
    ), "UnknownKey"
    yield "wrong kty", sign_bytes({"alg": "ES256", "typ": "at+jwt", "kid": "rsa"}, claims(), "ec"), "OtherAlgorithm"
    yield "other alg than the key's", sign_bytes(
        {"alg": "PS256", "typ": "at+jwt", "kid": "rsa-rs256-only"}, claims(), "rsa-rs256-only"
    ), "OtherAlgorithm"
    yield "the key's alg", sign_bytes(
        {"alg": "RS256", "typ": "at+jwt", "kid": "rsa-rs256-only"}, claims(), "rsa-rs256-only"
    ), "ok"
    yield "kid absent, several keys fit", odd({"alg": "RS256", "kid": None}, key="rsa"), "AmbiguousKey"
    yield "RSA 1024", odd({"alg": "RS256"}, key="rsa1024"), "UnknownKey"
    yield "unknown kid", odd({"kid": "gone"}), "UnknownKey"
    yield "kid of a path", odd({"kid": "../../dev/null"}), "UnknownKey"
    yield "kid a number", odd({"kid": 1}), "Malformed"
    yield "ECDSA as DER", der_signature(), "BadSignature"

    yield "no exp", plain(exp=None), "NoExpiry"
    yield "exp a string", plain(exp=str(NOW + 3600)), "Malformed"
    yield "exp negative", plain(exp=-1), "Malformed"
    yield "exp enormous", plain(exp=1e300), "Malformed"
    yield "expired outside the leeway", plain(exp=NOW - 61), "Expired"
    yield "expired by exactly the leeway", plain(exp=NOW - 60), "Expired"
    yield "nbf in the future", plain(nbf=NOW + 120), "NotYetValid"
    yield "iat in the future", plain(iat=NOW + 120), "IssuedInFuture"
    yield "other iss", plain(iss="https://evil.example"), "WrongIssuer"
    yield "iss with a slash", plain(iss=ISSUER + "/"), "WrongIssuer"
    yield "iss in upper case", plain(iss=ISSUER.upper()), "WrongIssuer"
    yield "iss a list", plain(iss=[ISSUER]), "WrongIssuer"
    yield "no iss", plain(iss=None), "WrongIssuer"
    yield "other aud", plain(aud="https://other.example/mcp"), "WrongAudience"
    yield "aud of the origin", plain(aud="https://mcp.example"), "WrongAudience"
    yield "aud as a prefix", plain(aud=RESOURCE + ".evil.example"), "WrongAudience"
    yield "no aud", plain(aud=None), "WrongAudience"
    yield "aud empty", plain(aud=[]), "WrongAudience"
    yield "aud with a number", plain(aud=[RESOURCE, 1]), "WrongAudience"
    yield "aud an object", plain(aud={"a": RESOURCE}), "WrongAudience"

    for typ in ["dpop+jwt", "logout+jwt", "secevent+jwt", "jwt-bearer", "application/dpop+jwt", "JWE", ""]:
        yield f"typ {typ!r}", plain(header={"typ": typ}), "WrongType"
    yield "ID token with nonce", plain(header={"typ": "JWT"}, nonce="n"), "IdToken"
    yield "ID token with at_hash", plain(header={"typ": "JWT"}, at_hash="h"), "IdToken"
    yield "ID token for its client", plain(header={"typ": "JWT"}, aud="client-1"), "IdToken"
    yield "ID token by its claim", plain(header={"typ": "JWT"}, typ="ID"), "IdToken"
    yield "refresh token by its claim", plain(header={"typ": "JWT"}, typ="Refresh"), "RefreshToken"
    yield "bound in an unknown way", plain(cnf={"kid": "x"}), "UnknownBinding"
    yield "cnf a string", plain(cnf="jkt"), "UnknownBinding"
    yield "scope a number", plain(scope=7), "Malformed"
    yield "sub a number", plain(sub=7), "Malformed"

    yield "27 kB", plain(padding="x" * 20_000), "TooLarge"
    good = plain()
    yield "empty", "", "NotJwt"
    yield "opaque", "2YotnFZFEjr1zCsicMWpAA", "NotJwt"
    yield "three dots", "...", "NotJwt"
    yield "two dots", "..", "Malformed"
    yield "four segments", good + ".e30", "NotJwt"
    yield "four segments, empty", good + ".", "NotJwt"
    yield "five segments", good + ".e30.e30", "Encrypted"
    yield "two segments", good.rpartition(".")[0], "NotJwt"
    header, payload, signature = good.split(".")
    yield "padded header", f"{header}=.{payload}.{signature}", "Malformed"
    yield "padded signature", f"{good}=", "Malformed"
    yield "standard base64", f"{header}.{payload}.{signature[:-2]}+/", "Malformed"
    yield "whitespace inside", f"{header}.{payload[:8]} {payload[8:]}.{signature}", "Malformed"
    yield "newline at the end", good + "\n", "Malformed"
    yield "not ASCII", good + "\u00e9", "Malformed"
    yield "header not JSON", f"{b64('{')}.{payload}.{signature}", "Malformed"
    yield "header not UTF-8", f"{b64(bytes([0xff, 0xfe]))}.{payload}.{signature}", "Malformed"
    yield "header a list", f"{b64([])}.{payload}.{signature}", "Malformed"
    deep = "[" * 5000 + "]" * 5000
    nested = '{"alg":"ES256","x":' + deep + "}"
    yield "deeply nested header", f"{b64(nested)}.{payload}.{signature}", "Malformed"
    yield "deeply nested claims", odd(payload=json.dumps(claims())[:-1] + ',"x":' + deep[2500:7500] + "}"), "Malformed"
    twice = '{"alg":"none","alg":"ES256","kid":"ec"}'
    yield "duplicate member of the header", f"{b64(twice)}.{payload}.{signature}", "Malformed"
    text = json.dumps(claims())
    yield "duplicate member of the claims", odd(payload=text[:-1] + ',"aud":"x"}'), "Malformed"
    yield "duplicate member, escaped", odd(payload=text[:-1] + ',"\\u0073ub":"mallory"}'), "Malformed"
    yield "claims a list", odd(payload="[]"), "Malformed"
    yield "claims empty", odd(payload=""), "Malformed"


def odd_null_crit():
    return sign_bytes({"alg": "ES256", "typ": "at+jwt", "kid": "ec", "crit": None}, claims(), "ec")


def der_signature():
    """The signature as X.509 writes it, not as JOSE does."""
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    def change(raw):
        return encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))

    return with_signature(plain(), change)


def proofs():
    token = plain(cnf={"jkt": KEYS["ec"].thumbprint()})
    ath = b64(hashlib.sha256(token.encode()).digest())
    counter = iter(range(10_000))

    def proof(header=None, key="ec", drop=(), **more):
        jwk = KEYS[key].as_dict(private=False)
        protected = {"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk, **(header or {})}
        payload = {"jti": f"id-{next(counter)}", "htm": "POST", "htu": RESOURCE, "iat": NOW, "ath": ath, **more}
        payload = {name: value for name, value in payload.items() if name not in drop}
        return sign_bytes({name: value for name, value in protected.items() if value is not None}, payload, key)

    yield "valid", proof(), "ok"
    yield "iat 5 minutes ago", proof(iat=NOW - 300), "ok"
    yield "htu with a default port", proof(htu="https://MCP.example:443/mcp"), "ok"
    yield "htu with a query", proof(htu=RESOURCE + "?a=1"), "ok"
    yield "typ JWT", proof({"typ": "JWT"}), "Invalid"
    yield "typ absent", proof({"typ": None}), "Invalid"
    yield "tampered", flipped(proof()), "Invalid"
    yield "jwk absent", proof({"jwk": None}), "Invalid"
    yield "jwk private", proof({"jwk": KEYS["ec"].as_dict(private=True)}), "Invalid"
    yield "jwk of another", proof({"jwk": KEYS["foreign"].as_dict(private=False)}), "Invalid"
    yield "another key", proof(key="foreign"), "OtherKey"
    hs = f"{b64({'typ': 'dpop+jwt', 'alg': 'HS256', 'jwk': {'kty': 'oct', 'k': b64('secret')}})}.{b64({})}"
    yield "HS256", f"{hs}.{b64(hmac.new(b'secret', hs.encode(), hashlib.sha256).digest())}", "Invalid"
    yield "none", f"{b64({'typ': 'dpop+jwt', 'alg': 'none'})}.{b64({})}.", "Invalid"
    for name in ["jti", "htm", "htu", "iat", "ath"]:
        yield f"without {name}", proof(drop=[name]), "Invalid"
    yield "jti empty", proof(jti=""), "Invalid"
    yield "jti long", proof(jti="x" * 257), "Invalid"
    yield "htm GET", proof(htm="GET"), "Invalid"
    yield "htm in lower case", proof(htm="post"), "Invalid"
    yield "htu of another path", proof(htu="https://mcp.example/other"), "Invalid"
    yield "htu over http", proof(htu="http://mcp.example/mcp"), "Invalid"
    yield "iat too old", proof(iat=NOW - 301), "Invalid"
    yield "iat too new", proof(iat=NOW + 301), "Invalid"
    yield "ath of another token", proof(ath=b64(hashlib.sha256(b"other").digest())), "Invalid"
    yield "crit", proof({"crit": ["x"]}), "Invalid"
    yield "two proofs in one", proof() + "," + proof(), "Invalid"
    yield "long", proof(padding="x" * 20_000), "Invalid"
    return token


def collect(generator):
    rows = []
    while True:
        try:
            name, token, expected = next(generator)
            rows.append({"name": name, "token": token, "expected": expected})
        except StopIteration as end:
            return rows, end.value


def fixture():
    access_tokens, _ = collect(tokens())
    dpop, bound = collect(proofs())
    keys = [public(name) for name in ["rsa", "ec", "ec384", "ed", "rsa1024"]]
    keys.append(public("rsa-rs256-only", alg="RS256", use="sig", key_ops=["verify"]))
    return {
        "now": NOW,
        "issuer": ISSUER,
        "resource": RESOURCE,
        "jwks": {"keys": keys},
        "tokens": access_tokens,
        "dpop": {"token": bound, "bound_to": KEYS["ec"].thumbprint(), "proofs": dpop},
    }


# What depends on a key, in the text of a segment.
OF_A_KEY = re.compile(r'"(n|x|y|d|jkt|ath|bound_to)": ?"[\w-]+"')


def segment_shape(segment):
    try:
        text = base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)).decode()
    except ValueError:
        return segment
    return OF_A_KEY.sub(r'"\1"', text)


def token_shape(token):
    """The token without what is new in every run: header and claims as text, and whether there is a signature."""
    shapes = []
    for one in token.split(","):
        segments = one.split(".")
        shapes.append([segment_shape(text) for text in segments[:2]] + [bool(text) for text in segments[2:]])
    return shapes


def shape(value):
    """All of it, without what is new in every run."""
    if isinstance(value, dict):
        return {
            name: token_shape(inner) if name == "token" else None if name in ("n", "x", "y", "bound_to") else shape(inner)
            for name, inner in value.items()
        }
    return [shape(inner) for inner in value] if isinstance(value, list) else value


def check():
    """Whether tokens.json is what this mints."""
    found = shape(json.loads(pathlib.Path(__file__).with_name("tokens.json").read_text()))
    minted = shape(fixture())
    if found == minted:
        return
    for old, new in [(found["tokens"], minted["tokens"]), (found["dpop"]["proofs"], minted["dpop"]["proofs"])]:
        for row in [row for row in old + new if not (row in old and row in new)]:
            print(f"differs: {row['name']}", file=sys.stderr)
    sys.exit("tokens.json is not what mint.py mints; mint it again")


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    json.dump(fixture(), sys.stdout, indent=1)
    print()


main()
