package oracle

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
)

// NewValue returns a value of at least size bytes that identifies itself: it contains the tag of
// the request that wrote it, its key, its length and its checksum.
func NewValue(tag, key string, size int) []byte {
	head := tag + "|" + key + "|"
	body := max(size-len(head)-10, 0)
	b := append(make([]byte, 0, len(head)+body+20), head...)
	b = append(strconv.AppendInt(b, int64(body), 10), '|')
	seed := crc32.ChecksumIEEE([]byte(head)) | 1
	for range body { // pseudo-random, so that a shifted or swapped part does not fit
		seed ^= seed << 13
		seed ^= seed >> 17
		seed ^= seed << 5
		b = append(b, byte(seed))
	}
	return fmt.Appendf(b, "|%08x", crc32.ChecksumIEEE(b))
}

// ReadValue parses a value of NewValue.
func ReadValue(b []byte) (tag, key string, err error) {
	if len(b) < 9 || b[len(b)-9] != '|' {
		return "", "", fmt.Errorf("damaged value: %s", show(b))
	}
	body, sum := b[:len(b)-9], b[len(b)-8:]
	if want := fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)); string(sum) != want {
		return "", "", fmt.Errorf("checksum is not %s: %s", want, show(b))
	}
	parts := bytes.SplitN(body, []byte("|"), 4)
	if len(parts) != 4 || strconv.Itoa(len(parts[3])) != string(parts[2]) {
		return "", "", fmt.Errorf("length does not fit: %s", show(b))
	}
	return string(parts[0]), string(parts[1]), nil
}

// IsValueOf checks that a reply to GET is null or a value written to key.
func IsValueOf(key string) Check {
	return func(res any) error {
		if res == nil {
			return nil
		}
		b, ok := res.([]byte)
		if !ok {
			return fmt.Errorf("GET %s answered %T: %s", key, res, show(res))
		}
		_, got, err := ReadValue(b)
		if err == nil && got != key {
			err = fmt.Errorf("GET %s answered a value of %s", key, got)
		}
		return err
	}
}

// IsBulk checks that a reply is exactly these bytes, like the reply to ECHO.
func IsBulk(want string) Check {
	return func(res any) error {
		if b, ok := res.([]byte); !ok || string(b) != want {
			return fmt.Errorf("ECHO %s answered %T: %s", show(want), res, show(res))
		}
		return nil
	}
}

// IsStatus checks that a reply is a simple string, like the reply to SET.
func IsStatus(want string) Check {
	return func(res any) error {
		if s, ok := res.(string); !ok || s != want {
			return fmt.Errorf("status %s: got %T: %s", want, res, show(res))
		}
		return nil
	}
}

// IsCount checks that a reply is a positive integer, like the replies to RPUSH and INCR.
func IsCount(res any) error {
	if n, ok := res.(int64); !ok || n <= 0 {
		return fmt.Errorf("count: got %T: %s", res, show(res))
	}
	return nil
}

// IsPoppedFrom checks that a reply to BLPOP is null, or the key and an element.
func IsPoppedFrom(key string) Check {
	return func(res any) error {
		if res == nil {
			return nil
		}
		popped, ok := res.([]any)
		if !ok || len(popped) != 2 {
			return fmt.Errorf("BLPOP %s answered %T: %s", key, res, show(res))
		}
		if from, _ := popped[0].([]byte); string(from) != key {
			return fmt.Errorf("BLPOP %s answered an element of %q", key, from)
		}
		return nil
	}
}
