/* SPDX-License-Identifier: MIT */
#pragma once

/* JSON texts: valid ones with their items, and invalid ones with the place and the problem */

#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "test.h"

/* One letter for each item kind, in the order of enum json_kind. */
static const char kind_letters[] = "{}[]ns1tf0";

/* A valid text and its items. */
#define A(text, items)                                                                             \
	{                                                                                          \
		text, sizeof(text) - 1, items                                                      \
	}

static const struct accepted {
	const char *text;
	size_t n_bytes;
	const char *items;
} accepted[] = {
	/* any value is a JSON text */
	A("{}", "{}"),
	A("[]", "[]"),
	A("\"\"", "s"),
	A("\"a\"", "s"),
	A("0", "1"),
	A("true", "t"),
	A("false", "f"),
	A("null", "0"),

	/* white space is four characters, anywhere between tokens */
	A(" \t\n\r1", "1"),
	A("1 \t\n\r", "1"),
	A(" { \"a\" : 1 , \"b\" : 2 } ", "{n1n1}"),
	A("\r\n[\r\n1\r\n,\r\n2\r\n]\r\n", "[11]"),
	A("\t{\t}\t", "{}"),
	A("[ ]", "[]"),
	A("{\n}", "{}"),

	/* numbers */
	A("-0", "1"),
	A("-1", "1"),
	A("9", "1"),
	A("10", "1"),
	A("1234567890", "1"),
	A("0.0", "1"),
	A("-0.0", "1"),
	A("0.5", "1"),
	A("1.50", "1"),
	A("10.01", "1"),
	A("0e0", "1"),
	A("0E0", "1"),
	A("1e5", "1"),
	A("1E5", "1"),
	A("1e+5", "1"),
	A("1e-5", "1"),
	A("1E+05", "1"),
	A("1e00", "1"),
	A("0.1e1", "1"),
	A("-1.25e-10", "1"),
	A("1e400", "1"),
	A("-1e-400", "1"),
	A("18446744073709551616", "1"),
	A("0.00000000000000000000000000000000000000000000000000000000001", "1"),
	A("123456789012345678901234567890123456789012345678901234567890", "1"),
	A("[0,-0,1.5,2e3]", "[1111]"),

	/* strings */
	A("\" \"", "s"),
	A("\"\\\"\"", "s"),
	A("\"\\\\\"", "s"),
	A("\"\\/\"", "s"),
	A("\"/\"", "s"),
	A("\"\\b\\f\\n\\r\\t\"", "s"),
	A("\"\\u0000\"", "s"),
	A("\"\\u001f\"", "s"),
	A("\"\\uabCD\"", "s"),
	A("\"\\uFFFF\"", "s"),
	A("\"\\ud83d\\ude00\"", "s"),
	A("\"\\ud800\"", "s"),
	A("\"\\udc00\"", "s"),
	A("\"\\udc00\\ud800\"", "s"),
	A("\"\\ud800\\ud800\"", "s"),
	A("\"\\ud800a\"", "s"),
	A("\"\\u00411\"", "s"),
	A("\"\\\\u12\"", "s"),
	A("\"'\"", "s"),
	A("\"\x7f\"", "s"),
	A("\"// no comment /* none */\"", "s"),
	A("\"[{,:}]\"", "s"),
	A("\"\xc2\x80\"", "s"),
	A("\"\xdf\xbf\"", "s"),
	A("\"\xe0\xa0\x80\"", "s"),
	A("\"\xed\x9f\xbf\"", "s"),
	A("\"\xee\x80\x80\"", "s"),
	A("\"\xef\xbb\xbf\"", "s"),
	A("\"\xef\xbf\xbf\"", "s"),
	A("\"\xe2\x80\xa8\xe2\x80\xa9\"", "s"),
	A("\"\xf0\x90\x80\x80\"", "s"),
	A("\"\xf4\x8f\xbf\xbf\"", "s"),
	A("\"plain then \xc3\xa9\xc3\xa9 then plain again\"", "s"),

	/* arrays and objects */
	A("[1]", "[1]"),
	A("[1,2,3]", "[111]"),
	A("[[]]", "[[]]"),
	A("[[],[],{}]", "[[][]{}]"),
	A("[[[[[[[[[[]]]]]]]]]]", "[[[[[[[[[[]]]]]]]]]]"),
	A("[true,false,null]", "[tf0]"),
	A("[\"a\",\"b\"]", "[ss]"),
	A("{\"a\":1}", "{n1}"),
	A("{\"\":\"\"}", "{ns}"),
	A("{\"a\":\"b\",\"c\":\"d\"}", "{nsns}"),
	A("{\"a\":1,\"a\":2}", "{n1n1}"),
	A("{\"a\":{\"a\":{\"a\":null}}}", "{n{n{n0}}}"),
	A("{\"a\":[],\"b\":{},\"c\":[{}]}", "{n[]n{}n[{}]}"),
	A("[{\"a\":[{\"b\":[1]},2]},3]", "[{n[{n[1]}1]}1]"),
	A("{\"\\u0000\":0}", "{n1}"),
	A("{\"\xc3\xa9\":true}", "{nt}"),
	A("{\"true\":true}", "{nt}"),
};

/* An invalid text, the offset of the first wrong byte, and what was expected there. */
#define R(text, offset, problem)                                                                   \
	{                                                                                          \
		text, sizeof(text) - 1, offset, problem                                            \
	}
#define VALUE "expected a value"
#define FIRST_VALUE "expected a value or ']'"
#define FIRST_NAME "expected a name in double quotes or '}'"
#define NAME "expected a name in double quotes"
#define COLON "expected ':'"
#define MORE_MEMBERS "expected ',' or '}'"
#define MORE_VALUES "expected ',' or ']'"
#define END "expected the end of the text"
#define DIGIT "expected a digit"
#define LEADING_ZERO "expected no digit after a leading 0"
#define CLOSING_QUOTE "expected '\"' at the end of the string"
#define ESCAPE "expected one of \"\\/bfnrtu after '\\'"
#define HEX "expected four hexadecimal digits after '\\u'"
#define CONTROL "expected control characters to be escaped"
#define UTF8 "expected valid UTF-8"

static const struct refused {
	const char *text;
	size_t n_bytes;
	size_t offset;
	const char *problem;
} refused[] = {
	/* no value */
	R("", 0, VALUE),
	R(" ", 1, VALUE),
	R("\r\n\t ", 4, VALUE),

	/* byte order marks and other encodings */
	R("\xef\xbb\xbf{}", 0, "expected a value, not a byte order mark"),
	R("\xef\xbb\xbf", 0, "expected a value, not a byte order mark"),
	R("\xef\xbb", 0, VALUE),
	R(" \xef\xbb\xbf{}", 1, VALUE),
	R("{}\xef\xbb\xbf", 2, END),
	R("\xff\xfe{\0}\0", 0, VALUE),
	R("{\0}\0", 1, FIRST_NAME),
	R("\0{\0}", 0, VALUE),

	/* other white space */
	R("\f1", 0, VALUE),
	R("\v1", 0, VALUE),
	R("1\f", 1, END),
	R("[\f]", 1, FIRST_VALUE),
	R("[1\v]", 2, MORE_VALUES),
	R("\xc2\xa0{}", 0, VALUE),
	R("[\xe2\x80\xa8]", 1, FIRST_VALUE),
	R("\0", 0, VALUE),
	R("1\0", 1, END),
	R("{}\0", 2, END),
	R("\x1e{}", 0, VALUE),

	/* comments */
	R("// a\n1", 0, VALUE),
	R("/* a */1", 0, VALUE),
	R("# a\n1", 0, VALUE),
	R("1 // a", 2, END),
	R("[1 /* a */]", 3, MORE_VALUES),
	R("{\"a\":/**/1}", 5, VALUE),
	R("{/**/}", 1, FIRST_NAME),

	/* text after the value */
	R("1 2", 2, END),
	R("{}{}", 2, END),
	R("[][]", 2, END),
	R("\"a\"\"b\"", 3, END),
	R("\"a\" \"b\"", 4, END),
	R("null null", 5, END),
	R("1,2", 1, END),
	R("1,", 1, END),
	R("\"a\":1", 3, END),
	R("{}]", 2, END),
	R("[]]", 2, END),
	R("{}}", 2, END),
	R("{},", 2, END),
	R("truefalse", 4, END),
	R("1true", 1, END),

	/* brackets */
	R("[", 1, FIRST_VALUE),
	R("{", 1, FIRST_NAME),
	R("]", 0, VALUE),
	R("}", 0, VALUE),
	R("[}", 1, FIRST_VALUE),
	R("{]", 1, FIRST_NAME),
	R("[1}", 2, MORE_VALUES),
	R("{\"a\":1]", 6, MORE_MEMBERS),
	R("[[]", 3, MORE_VALUES),
	R("[{}", 3, MORE_VALUES),
	R("{\"a\":{}", 7, MORE_MEMBERS),
	R("[{]}", 2, FIRST_NAME),
	R("[[1]}", 4, MORE_VALUES),
	R("{\"a\":[1}}", 7, MORE_VALUES),
	R("(1)", 0, VALUE),
	R("<1>", 0, VALUE),

	/* commas and colons */
	R(",", 0, VALUE),
	R(":", 0, VALUE),
	R("[1,]", 3, VALUE),
	R("[,1]", 1, FIRST_VALUE),
	R("[,]", 1, FIRST_VALUE),
	R("[1,,2]", 3, VALUE),
	R("[1 2]", 3, MORE_VALUES),
	R("[1:2]", 2, MORE_VALUES),
	R("[1;2]", 2, MORE_VALUES),
	R("[\"a\":1]", 4, MORE_VALUES),
	R("[\"a\" \"b\"]", 5, MORE_VALUES),
	R("[1", 2, MORE_VALUES),
	R("[1,", 3, VALUE),
	R("{,}", 1, FIRST_NAME),
	R("{:}", 1, FIRST_NAME),
	R("{:1}", 1, FIRST_NAME),
	R("{\"a\":1,}", 7, NAME),
	R("{\"a\":1,,\"b\":2}", 7, NAME),
	R("{,\"a\":1}", 1, FIRST_NAME),
	R("{\"a\"}", 4, COLON),
	R("{\"a\",\"b\"}", 4, COLON),
	R("{\"a\":}", 5, VALUE),
	R("{\"a\"::1}", 5, VALUE),
	R("{\"a\":1:2}", 6, MORE_MEMBERS),
	R("{\"a\" 1}", 5, COLON),
	R("{\"a\"=1}", 4, COLON),
	R("{\"a\":1 \"b\":2}", 7, MORE_MEMBERS),
	R("{\"a\":1;\"b\":2}", 6, MORE_MEMBERS),
	R("{\"a\"", 4, COLON),
	R("{\"a\":", 5, VALUE),
	R("{\"a\":1", 6, MORE_MEMBERS),
	R("{\"a\":1,", 7, NAME),

	/* names */
	R("{a:1}", 1, FIRST_NAME),
	R("{'a':1}", 1, FIRST_NAME),
	R("{1:1}", 1, FIRST_NAME),
	R("{null:1}", 1, FIRST_NAME),
	R("{[]:1}", 1, FIRST_NAME),
	R("{{}:1}", 1, FIRST_NAME),
	R("{\"a\":1,b:2}", 7, NAME),
	R("{\"a\":1,2:3}", 7, NAME),
	R("{\"a:1}", 6, CLOSING_QUOTE),
	R("{\"a\\x\":1}", 4, ESCAPE),

	/* words */
	R("t", 1, "expected 'true'"),
	R("tru", 3, "expected 'true'"),
	R("tRue", 1, "expected 'true'"),
	R("truE", 3, "expected 'true'"),
	R("true1", 4, END),
	R("truee", 4, END),
	R("fals", 4, "expected 'false'"),
	R("falsy", 4, "expected 'false'"),
	R("nul", 3, "expected 'null'"),
	R("nil", 1, "expected 'null'"),
	R("nan", 1, "expected 'null'"),
	R("[nul]", 4, "expected 'null'"),
	R("[nullnull]", 5, MORE_VALUES),
	R("True", 0, VALUE),
	R("TRUE", 0, VALUE),
	R("None", 0, VALUE),
	R("NaN", 0, VALUE),
	R("Infinity", 0, VALUE),
	R("-Infinity", 1, DIGIT),
	R("undefined", 0, VALUE),
	R("yes", 0, VALUE),
	R("a", 0, VALUE),

	/* numbers */
	R("-", 1, DIGIT),
	R("--1", 1, DIGIT),
	R("- 1", 1, DIGIT),
	R("-a", 1, DIGIT),
	R("+1", 0, VALUE),
	R("+", 0, VALUE),
	R(".", 0, VALUE),
	R(".5", 0, VALUE),
	R("-.5", 1, DIGIT),
	R("1.", 2, DIGIT),
	R("1. ", 2, DIGIT),
	R("1.e5", 2, DIGIT),
	R("1.-5", 2, DIGIT),
	R("1..5", 2, DIGIT),
	R("1.5.5", 3, END),
	R("[1.]", 3, DIGIT),
	R("00", 1, LEADING_ZERO),
	R("01", 1, LEADING_ZERO),
	R("-01", 2, LEADING_ZERO),
	R("-00.5", 2, LEADING_ZERO),
	R("[007]", 2, LEADING_ZERO),
	R("1e", 2, DIGIT),
	R("1E", 2, DIGIT),
	R("1e+", 3, DIGIT),
	R("1e-", 3, DIGIT),
	R("1e+-5", 3, DIGIT),
	R("1e 5", 2, DIGIT),
	R("1e5.5", 3, END),
	R("1e5e5", 3, END),
	R("1.5e", 4, DIGIT),
	R("e5", 0, VALUE),
	R("0x10", 1, END),
	R("0b1", 1, END),
	R("0o7", 1, END),
	R("1_000", 1, END),
	R("1 000", 2, END),
	R("1f", 1, END),
	R("1-2", 1, END),
	R("1+2", 1, END),
	R("[1-]", 2, MORE_VALUES),
	R("\xef\xbc\x91", 0, VALUE),
	R("1\xd9\xab"
	  "5",
	  1, END),

	/* strings: quotes and ends */
	R("\"", 1, CLOSING_QUOTE),
	R("\"abc", 4, CLOSING_QUOTE),
	R("\"abcdefghijklmnop", 17, CLOSING_QUOTE),
	R("\"\\\"", 3, CLOSING_QUOTE),
	R("\"a\\\\\\\"", 6, CLOSING_QUOTE),
	R("'a'", 0, VALUE),
	R("'", 0, VALUE),
	R("`a`", 0, VALUE),
	R("\"a'", 3, CLOSING_QUOTE),
	R("[\"a]", 4, CLOSING_QUOTE),
	R("\xe2\x80\x9c"
	  "a\xe2\x80\x9d",
	  0, VALUE),
	R("\"a\"b", 3, END),

	/* strings: escapes */
	R("\"\\", 2, ESCAPE),
	R("\"\\x41\"", 2, ESCAPE),
	R("\"\\a\"", 2, ESCAPE),
	R("\"\\v\"", 2, ESCAPE),
	R("\"\\0\"", 2, ESCAPE),
	R("\"\\'\"", 2, ESCAPE),
	R("\"\\ \"", 2, ESCAPE),
	R("\"\\N\"", 2, ESCAPE),
	R("\"\\U0041\"", 2, ESCAPE),
	R("\"\\\n\"", 2, ESCAPE),
	R("\"\\\0\"", 2, ESCAPE),
	R("\"\\\xc3\xa9\"", 2, ESCAPE),
	R("\"\\u", 3, HEX),
	R("\"\\u\"", 3, HEX),
	R("\"\\u1\"", 4, HEX),
	R("\"\\u12\"", 5, HEX),
	R("\"\\u123\"", 6, HEX),
	R("\"\\u123", 6, HEX),
	R("\"\\u123g\"", 6, HEX),
	R("\"\\uG000\"", 3, HEX),
	R("\"\\u-123\"", 3, HEX),
	R("\"\\u+123\"", 3, HEX),
	R("\"\\u 123\"", 3, HEX),
	R("\"\\u{41}\"", 3, HEX),
	R("\"\\u12\0"
	  "4\"",
	  5, HEX),
	R("\"\\ud83d\\ude0\"", 12, HEX),
	R("\"\\u1234", 7, CLOSING_QUOTE),

	/* strings: control characters */
	R("\"\0\"", 1, CONTROL),
	R("\"a\nb\"", 2, CONTROL),
	R("\"\t\"", 1, CONTROL),
	R("\"\r\"", 1, CONTROL),
	R("\"\x1f\"", 1, CONTROL),
	R("\"\x1b[31m\"", 1, CONTROL),
	R("\"abcdefgh\n\"", 9, CONTROL),
	R("{\"\n\":1}", 2, CONTROL),

	/* strings: invalid UTF-8 */
	R("\"\x80\"", 1, UTF8),
	R("\"\xbf\"", 1, UTF8),
	R("\"\xff\"", 1, UTF8),
	R("\"\xfe\"", 1, UTF8),
	R("\"\xe9\"", 1, UTF8),
	R("\"\xc3\"", 1, UTF8),
	R("\"\xc3", 1, UTF8),
	R("\"\xc3\xc3\xa9\"", 1, UTF8),
	R("\"\xc3\xa9\xa9\"", 3, UTF8),
	R("\"\xc0\x80\"", 1, UTF8),
	R("\"\xc0\xaf\"", 1, UTF8),
	R("\"\xc1\xbf\"", 1, UTF8),
	R("\"\xe0\x80\xaf\"", 1, UTF8),
	R("\"\xe0\x9f\xbf\"", 1, UTF8),
	R("\"\xf0\x80\x80\xaf\"", 1, UTF8),
	R("\"\xf0\x8f\xbf\xbf\"", 1, UTF8),
	R("\"\xed\xa0\x80\"", 1, UTF8),
	R("\"\xed\xbf\xbf\"", 1, UTF8),
	R("\"\xed\xa0\xbd\xed\xb8\x80\"", 1, UTF8),
	R("\"\xf4\x90\x80\x80\"", 1, UTF8),
	R("\"\xf5\x80\x80\x80\"", 1, UTF8),
	R("\"\xf8\x88\x80\x80\x80\"", 1, UTF8),
	R("\"\xe2\x82\"", 1, UTF8),
	R("\"\xe2\x82", 1, UTF8),
	R("\"\xf0\x9f\x98\"", 1, UTF8),
	R("\"abcdefgh\xf0\x9f\x98", 9, UTF8),
	R("{\"\xff\":1}", 2, UTF8),
	R("\xc3\xa9", 0, VALUE),
};

/* Prints which row of a table failed. */
static inline void name_row(unsigned failures_before, const char *text, size_t n_bytes)
{
	_cleanup_text_ struct text shown = TEXT_INIT;

	if (test_failures == failures_before)
		return;
	text_add_visible(&shown, text, n_bytes);
	printf("# the text is: %s\n", text_string(&shown));
}
