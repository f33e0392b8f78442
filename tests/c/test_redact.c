#include "support.h"

#include "roast/redact.h"

#include <stdlib.h>

typedef size_t redact_function(roast_str text, char *out);

/* Twice, into another place and over itself: all four are the same. */
static void assert_redacts(redact_function *redact, const char *text, const char *expected) {
    char out[1024], self[1024];
    size_t len = strlen(text);
    assert_true(len < sizeof out);
    roast_str once = {out, redact(roast_str_of(text), out)};
    if (!roast_str_equal(once, roast_str_of(expected)))
        fail_msg("%s\n becomes %.*s\n     not %s", text, (int)once.len, once.data, expected);
    memcpy(self, text, len);
    assert_int_equal(once.len, redact((roast_str){self, len}, self));
    assert_memory_equal(out, self, once.len);
    assert_int_equal(once.len, redact(once, self));
    assert_memory_equal(out, self, once.len);
}

static const struct {
    const char *address;
    const char *kept; /* of it as a name; a text has a mark in place of '|' */
} addresses[] = {
    {"root://user:pw@host//store/f.root", "root://host//store/f.root"},
    {"root://user@host//store/f.root", "root://host//store/f.root"},
    {"root://u:p@ss:w@host:1094//store/f.root", "root://host:1094//store/f.root"},
    {"https://u:pa/ss?w@host/f.root", "https://host/f.root"},
    {"davs://u:p%40@[2001:db8::1]:443/f.root", "davs://[2001:db8::1]:443/f.root"},
    {"https://h/f.root?X-Amz-Credential=AB&X-Amz-Signature=cd", "https://h/f.root|?***"},
    {"root://h//f.root?authz=Bearer%20abc.def", "root://h//f.root|?***"},
    {"root://h//f.root?xrdcl.unzip=a/b.root&authz=tok",
     "root://h//f.root?xrdcl.unzip=a/b.root|&***"},
    {"root://h//f.root?authz=tok&xrdcl.requuid=12-3", "root://h//f.root?xrdcl.requuid=12-3|&***"},
    {"https://h/download?path=/&files=x.root&t=1", "https://h/download?path=/&files=x.root|&***"},
    {"https://h/f.root?path=a@b", "https://h/f.root|?***"},
    {"https://h/f.root?onlyatoken", "https://h/f.root|?***"},
    {"https://h/f.root?a", "https://h/f.root|?*"},
    {"https://h/f.root?a=1?b=2;c=3#d=4", "https://h/f.root|?***"},
    {"https://h/f.root#access_token=abc", "https://h/f.root|?***"},
    {"s3://k:s@bucket/f.root?versionId=3Lg_1", "s3://bucket/f.root?versionId=3Lg_1"},
    {"simplecache::https://u:p@h/f.root?sig=x", "simplecache::https://h/f.root|?***"},
    {"zip://in.root::https://u:p@h/a.zip?sig=a::b", "zip://in.root::https://h/a.zip|?***"},
    {"https://h/a?sig=x::root://u:p@h2//b", "https://h/a|?***::root://h2//b"},
    {"https://h/f.root;jsessionid=12AB", "https://h/f.root;jsessionid=***"},
    {"https://h/eyJhbGciOi.eyJzdWIi.c2ln/f.root", "https://h/***/f.root"},
};

/* `kept` with its mark or without. */
static void expect_kept(const char *kept, bool marked, char *out) {
    const char *bar = strchr(kept, '|');
    if (bar == NULL) {
        strcpy(out, kept);
        return;
    }
    size_t mark = 1;
    while (bar[mark] != '\0' && bar[mark] != ':')
        mark++;
    sprintf(out, "%.*s%.*s%s", (int)(bar - kept), kept, marked ? (int)mark - 1 : 0, bar + 1,
            bar + mark);
}

static void test_addresses(void **state) {
    char kept[512];
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        expect_kept(addresses[i].kept, false, kept);
        assert_redacts(roast_redact_name, addresses[i].address, kept);
    }
    assert_redacts(roast_redact_name, "/store/f.root?authz=abc/def&x=1",
                   "/store/f.root?authz=***&x=1");
    assert_redacts(roast_redact_name, "/store/f.root?a=1&sig=abc", "/store/f.root?a=1&sig=***");
}

static void test_addresses_in_texts(void **state) {
    static const char *const around[][2] = {
        {"cannot open ", " today"},   {"OSError('", "')"}, {"{\"url\": \"", "\"}"},
        {"OSError('of \\'", "\\'')"}, {"<", ">"},          {"", "\nnext line"}};
    char text[1024], kept[512], expected[1024];
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        for (size_t j = 0; j < sizeof around / sizeof *around; j++) {
            expect_kept(addresses[i].kept, true, kept);
            snprintf(text, sizeof text, "%s%s%s", around[j][0], addresses[i].address, around[j][1]);
            snprintf(expected, sizeof expected, "%s%s%s", around[j][0], kept, around[j][1]);
            assert_redacts(roast_redact_text, text, expected);
        }
}

/* The name of a file is the same, whether it was cited in a text before or not. */
static void test_name_of_a_text(void **state) {
    char cited[512], name[512], other[512];
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        roast_str address = roast_str_of(addresses[i].address);
        roast_str text = {cited, roast_redact_text(address, cited)};
        size_t len = roast_redact_name(address, name);
        assert_int_equal(len, roast_redact_name(text, other));
        assert_memory_equal(name, other, len);
    }
}

static void test_texts(void **state) {
    static const char *const texts[][2] = {
        {"password=hunter2", "password=***"},
        {"password = 'hunter 2', user = 'me'", "password = '***', user = 'me'"},
        {"{'db_password': 'a\\'b', 'n': 1}", "{'db_password': '***', 'n': 1}"},
        {"{\"token\": \"a\\\"b\", \"n\": 1}", "{\"token\": \"***\", \"n\": 1}"},
        {"{\\\"token\\\": \\\"abc\\\"}", "{\\\"token\\\": \\\"***\\\"}"},
        {"{'token': b'abc'}", "{'token': b'***'}"},
        {"'password=a b c' d", "'password=***' d"},
        {"Authorization: Bearer abc, more\nHost: h", "Authorization: ***\nHost: h"},
        {"Authorization: AWS4-HMAC-SHA256 Credential=AK/x, Signature=y", "Authorization: ***"},
        {"curl -H 'X-Auth-Token: abc' h", "curl -H 'X-Auth-Token: ***' h"},
        {"Set-Cookie: id=1; path=/", "Set-Cookie: ***"},
        {"sent Bearer abcdefg1 to h", "sent Bearer *** to h"},
        {"Basic dXNlcjpwYXNz", "Basic ***"},
        {"python a.py --password hunter2 in.root", "python a.py --password *** in.root"},
        {"python a.py --api-key=abc in.root", "python a.py --api-key=*** in.root"},
        {"['--token', 'abc', 'in.root']", "['--token', '***', 'in.root']"},
        {"export AWS_SECRET_ACCESS_KEY=ab/cd+e; run", "export AWS_SECRET_ACCESS_KEY=***; run"},
        {"two lines\\npassword=abc", "two lines\\npassword=***"},
        {"two lines\\nauth=abc", "two lines\\nauth=***"},
        {"jwt eyJhbGciOiJI.eyJzdWIi.c2ln.", "jwt ***"},
        {"ghp_0123456789abcdefABCD!", "***!"},
        {"AKIAIOSFODNN7EXAMPLE", "***"},
        {"MDAxY2xvY2F0aW9uIE9wdGlvbmFsLmVtcHR5CjAwMThpZGVudA==", "***"},
        {"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
         "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
        {"-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN PRIVATE KEY-----***"},
        {"['-----BEGIN PRIVATE KEY-----\\nMII', 1]", "['-----BEGIN PRIVATE KEY-----***', 1]"},
        {"pw=x", "pw=*"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_redacts(roast_redact_text, texts[i][0], texts[i][1]);
}

static void test_other_names_stay(void **state) {
    static const char *const names[] = {
        "",
        "f.root",
        "/data/what?.root",
        "/data/token=abc/password=1/part-0.parquet",
        "/data/a#1;b&c.root",
        "/data/user@site/f.root",
        "/data/Basic Selection2018A.root",
        "C:\\data\\token=1\\f.root",
        "root://eos.cern.ch//eos/cms/store/data/Run2018A/f.root",
        "root://host:1094//store/user/me@x/f.root",
        "root://[2001:db8::1]:1094//f.root",
        "file:///C:/data/f.root",
        "https://host/a%20b/f.root",
        "https://host/f.root#1",
        "zip://in.root::root://host//all.zip",
        "simplecache::s3://bucket/f.root:Events",
        "root://host//f.root?xrdcl.unzip=in.root",
        "hdfs://nn/ASIA_pacific_ghp_x/eyJ.root",
        "/d\xc3\xa4ta/\xe6\x97\xa5\xff.root",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_redacts(roast_redact_name, names[i], names[i]);
}

static void test_other_texts_stay(void **state) {
    static const char *const texts[] = {
        "ValueError: no",
        "cannot broadcast nested list (in compiled code: https://github.com/a/b/blob/c.cpp#L149)",
        "KeyError: 'token'",
        "max_tokens=512, tokenizer: fast",
        "std::token::next",
        "token=None, auth: null, secret=True",
        "bearer authentication is required; Basic Authentication, too",
        "tcp://127.0.0.1:8786 and tls://10.0.0.1:45123",
        "sig=5.2, bkg=3",
        "signature: f(x), auth: by the site",
        "{\"secret\": {\"n\": 1}, \"token\": 5, \"auth\": null}",
        "WorkItem(dataset='a', filename='root://h//f.root', treename='Events')",
        "git@github.com:scikit-hep/coffea.git",
        "docker://coffeateam/coffea-dask:latest@sha256:abc",
        "python a.py --no-password --verbose",
        "a - token is missing",
        "-----BEGIN CERTIFICATE-----",
        "https:// ://x ?a=b #c=d",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_redacts(roast_redact_text, texts[i], texts[i]);
}

static void test_names_of_secrets(void **state) {
    static const char *const secret[] = {"password",
                                         "DB_PASSWORD",
                                         "apiKey",
                                         "X-Api-Key",
                                         "token",
                                         "x509 passphrase",
                                         "auth",
                                         "accessToken",
                                         "credentials",
                                         "PW",
                                         "aws_secret_access_key"};
    static const char *const plain[] = {"",     "chunksize", "tokens", "max_tokens", "tokenizer",
                                        "path", "key",       "sig",    "author",     "bypass"};
    (void)state;
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        assert_true(roast_is_secret_name(roast_str_of(secret[i])));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_false(roast_is_secret_name(roast_str_of(plain[i])));
    assert_false(roast_is_secret_name((roast_str){NULL, 0}));
}

/* Of all that can be made of these pieces, a second time changes nothing, and the text never grows. */
static void test_twice_is_once(void **state) {
    static const char *const pieces[] = {"root://",
                                         "https://",
                                         "::",
                                         ":",
                                         "//",
                                         "/",
                                         "?",
                                         "&",
                                         "#",
                                         ";",
                                         "=",
                                         "@",
                                         "u",
                                         "host",
                                         "80",
                                         "authz",
                                         "password",
                                         "token",
                                         "--password",
                                         "xrdcl.unzip",
                                         "path",
                                         "sig",
                                         "Bearer ",
                                         "Basic ",
                                         "'",
                                         "\"",
                                         "\\",
                                         " ",
                                         "\n",
                                         ",",
                                         "{",
                                         "}",
                                         "None",
                                         "abc1234567",
                                         "eyJhbGciOiJIUzI1NiJ9",
                                         "-----BEGIN RSA PRIVATE KEY-----",
                                         "-----END",
                                         "*",
                                         "***",
                                         "b",
                                         "-",
                                         ".",
                                         "%20",
                                         "Authorization",
                                         "Cookie",
                                         "[",
                                         "]",
                                         "\xc3\xa4"};
    char text[512], once[512], twice[512], self[512];
    (void)state;
    srand(1);
    for (int round = 0; round < 400000; round++) {
        size_t len = 0;
        for (int i = 1 + rand() % 9; i > 0; i--) {
            const char *piece = pieces[(size_t)rand() % (sizeof pieces / sizeof *pieces)];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
        for (int name = 0; name < 2; name++) {
            redact_function *redact = name ? roast_redact_name : roast_redact_text;
            size_t first = redact((roast_str){text, len}, once);
            size_t second = redact((roast_str){once, first}, twice);
            assert_true(first <= len);
            if (first != second || memcmp(once, twice, first) != 0)
                fail_msg("%s: %.*s\nonce  %.*s\ntwice %.*s", name ? "name" : "text", (int)len, text,
                         (int)first, once, (int)second, twice);
            memcpy(self, text, len);
            assert_int_equal(first, redact((roast_str){self, len}, self));
            assert_memory_equal(once, self, first);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),        cmocka_unit_test(test_addresses_in_texts),
        cmocka_unit_test(test_name_of_a_text),   cmocka_unit_test(test_texts),
        cmocka_unit_test(test_other_names_stay), cmocka_unit_test(test_other_texts_stay),
        cmocka_unit_test(test_names_of_secrets), cmocka_unit_test(test_twice_is_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
