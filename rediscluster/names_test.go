package rediscluster

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
)

// NameTable holds the IPv4 addresses of names. Names that are missing do not exist. A name whose address
// is silence gets no answer.
type NameTable map[string][]string

const silence = "silence"

// KnownNames resolves names from a table until the test ends.
func KnownNames(t *testing.T, names NameTable) {
	t.Helper()
	nameServers.names.Store(&names)
	t.Cleanup(func() { nameServers.names.Store(nil) })
}

// serve answers the questions of one client, in the format of DNS over TCP.
func (names NameTable) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := names.answer(question)
		if answer == nil {
			continue
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer returns the answer to a question about one name (RFC 1035), or nil.
func (names NameTable) answer(question []byte) []byte {
	const header, recordA = 12, 1
	var labels []string
	end := header
	for question[end] != 0 {
		n := int(question[end])
		labels = append(labels, string(question[end+1:end+1+n]))
		end += 1 + n
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	end += 5 // the zero, type and class
	ips, known := names[strings.Join(labels, ".")]
	if len(ips) == 1 && ips[0] == silence {
		return nil
	}
	if kind != recordA {
		ips = nil
	}
	flags := uint16(0x8580) // an authoritative answer
	if !known {
		flags |= 3 // no such name
	}
	answer := append([]byte(nil), question[:2]...)
	for _, n := range []uint16{flags, 1, uint16(len(ips)), 0, 0} {
		answer = binary.BigEndian.AppendUint16(answer, n)
	}
	answer = append(answer, question[header:end]...)
	for _, ip := range ips {
		answer = append(answer, 0xc0, header, 0, recordA, 0, 1, 0, 0, 0, 0, 0, net.IPv4len)
		answer = append(answer, net.ParseIP(ip).To4()...)
	}
	return answer
}
