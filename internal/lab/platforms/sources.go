package main

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// sources caches parsed files, because most files are used on all platforms.
type sources struct {
	set   *token.FileSet
	files map[string]*ast.File
}

func newSources() *sources { return &sources{token.NewFileSet(), map[string]*ast.File{}} }

func (s *sources) parse(path string) (*ast.File, error) {
	if file, ok := s.files[path]; ok {
		return file, nil
	}
	file, err := parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution)
	if err == nil {
		s.files[path] = file
	}
	return file, err
}
