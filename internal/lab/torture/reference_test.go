package torture

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

var (
	errReference = errors.New("not a reply")
	signed       = regexp.MustCompile(`^[+-]?[0-9]+$`)
	unsigned     = regexp.MustCompile(`^[0-9]+$`)
	decimal      = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// reference is a slow decoder that follows only the grammar, for complete strings. It describes the
// values as text.
type reference struct {
	in     string
	limits redis.Limits
}

// reply decodes one reply. It skips pushes and attributes before the reply.
func (r *reference) reply() (string, error) { return r.value(0) }

func (r *reference) line() (string, error) {
	line, rest, found := strings.Cut(r.in, "\n")
	if !found || len(line)+1 > r.limits.Line || !strings.HasSuffix(line, "\r") || strings.Count(line, "\r") != 1 || line == "\r" {
		return "", errReference
	}
	r.in = rest
	return strings.TrimSuffix(line, "\r"), nil
}

func (r *reference) value(depth int) (string, error) {
	line, err := r.line()
	if err != nil {
		return "", err
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return fmt.Sprintf("string %q", text), nil
	case '-':
		return "error", nil
	case ':':
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !signed.MatchString(text) {
			return "", errReference
		}
		return fmt.Sprintf("int %d", n), nil
	case '$', '=', '!':
		return r.text(kind, text)
	case '*', '~', '%', '>', '|':
		return r.aggregate(kind, text, depth)
	}
	return r.resp3Line(kind, text)
}

func (r *reference) resp3Line(kind byte, text string) (string, error) {
	switch {
	case kind == '_' && text == "":
		return "nil", nil
	case kind == '#' && (text == "t" || text == "f"):
		return "bool " + strconv.FormatBool(text == "t"), nil
	case kind == ',' && text == "inf", kind == ',' && text == "-inf", kind == ',' && text == "nan", kind == ',' && text == "-nan":
		f, _ := strconv.ParseFloat(strings.TrimPrefix(text, "-"), 64)
		if text == "-inf" {
			f = -f
		}
		return fmt.Sprintf("double %v", f), nil
	case kind == ',' && decimal.MatchString(text):
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return fmt.Sprintf("double %v", f), nil
		}
	case kind == '(' && signed.MatchString(text):
		n, _ := new(big.Int).SetString(text, 10)
		return "big " + n.String(), nil
	}
	return "", errReference
}

func (r *reference) length(kind byte, text string, limit int) (int, error) {
	if text == "-1" && (kind == '$' || kind == '*') {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || !unsigned.MatchString(text) || n > limit {
		return 0, errReference
	}
	return n, nil
}

func (r *reference) text(kind byte, text string) (string, error) {
	n, err := r.length(kind, text, r.limits.Bulk)
	if err != nil || n < 0 {
		return "nil", err
	}
	if len(r.in) < n+2 || r.in[n:n+2] != "\r\n" {
		return "", errReference
	}
	body := r.in[:n]
	r.in = r.in[n+2:]
	switch {
	case kind == '!':
		return "error", nil
	case kind == '$':
		return fmt.Sprintf("bytes %q", body), nil
	case n >= 4 && body[3] == ':':
		return fmt.Sprintf("string %q", body[4:]), nil
	}
	return "", errReference
}

func (r *reference) aggregate(kind byte, text string, depth int) (string, error) {
	n, err := r.length(kind, text, r.limits.Elements)
	if err != nil || n < 0 {
		return "nil", err
	}
	if kind == '%' || kind == '|' {
		n *= 2
	}
	if n > r.limits.Elements || depth >= r.limits.Depth || kind == '>' && depth > 0 {
		return "", errReference
	}
	elements := make([]string, n)
	for i := range elements {
		if elements[i], err = r.value(depth + 1); err != nil {
			return "", err
		}
	}
	switch kind {
	case '>', '|':
		return r.value(depth)
	case '%':
		return describePairs(elements)
	}
	return "[" + strings.Join(elements, ", ") + "]", nil
}

func describePairs(elements []string) (string, error) {
	pairs := map[string]string{}
	for i := 0; i < len(elements); i += 2 {
		kind, key, _ := strings.Cut(elements[i], " ")
		switch kind {
		case "string", "bytes":
			key, _ = strconv.Unquote(key)
		case "int":
		case "bool":
			key = map[string]string{"true": "1", "false": "0"}[key]
		case "double":
			f, _ := strconv.ParseFloat(key, 64)
			key = strconv.FormatFloat(f, 'f', -1, 64)
		default:
			return "", errReference
		}
		pairs[key] = elements[i+1]
	}
	return fmt.Sprintf("map %q", pairs), nil
}

// describe returns the text by which reference describes a value, for a value of the decoder.
func describe(res any) string {
	switch v := res.(type) {
	case nil:
		return "nil"
	case string:
		return fmt.Sprintf("string %q", v)
	case []byte:
		return fmt.Sprintf("bytes %q", v)
	case int64:
		return fmt.Sprintf("int %d", v)
	case float64:
		return fmt.Sprintf("double %v", v)
	case bool:
		return fmt.Sprintf("bool %v", v)
	case *big.Int:
		return "big " + v.String()
	case error:
		return "error"
	case []any:
		elements := make([]string, len(v))
		for i := range v {
			elements[i] = describe(v[i])
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case map[string]any:
		pairs := map[string]string{}
		for key, el := range v {
			pairs[key] = describe(el)
		}
		return fmt.Sprintf("map %q", pairs)
	}
	return fmt.Sprintf("unexpected %T", res)
}
