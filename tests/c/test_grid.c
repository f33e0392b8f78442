/* Tables of text: what goes in, how wide it is, how it is drawn. */
#include "support.h"

#include "render/unicode.h"
#include "render/grid_internal.h"
#include "roast/grid.h"

static roast_grid *new_grid(const char *title) {
    roast_grid *grid;
    roast_error err;
    assert_ok(roast_grid_new("it", roast_str_of(title), &grid, &err), err);
    return grid;
}

static void column(roast_grid *grid, const char *heading, roast_align align) {
    roast_error err;
    assert_ok(roast_grid_add_column(grid, roast_str_of(heading), align, &err), err);
}

static void cell(roast_grid *grid, const char *text) {
    roast_error err;
    assert_ok(roast_grid_add_cell(grid, roast_str_of(text), NULL, 0, &err), err);
}

static roast_grid *new_facts(const char *title) {
    roast_grid *grid = new_grid(title);
    roast_grid_set_facts(grid);
    column(grid, "Metric", ROAST_ALIGN_LEFT);
    column(grid, "Value", ROAST_ALIGN_NUMBER);
    return grid;
}

static void expect_text(const char *expected, roast_sink *sink) {
    roast_error err;
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    char *copy = test_malloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    assert_string_equal(expected, copy);
    test_free(copy);
    roast_sink_free(sink);
}

static roast_sink *new_sink(void) {
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

/* Draws the grid at a width and frees it. */
static void expect_drawn(const char *expected, roast_grid *grid, unsigned width, bool color) {
    roast_sink *sink = new_sink();
    roast_grid_draw(grid, width, color, sink);
    expect_text(expected, sink);
    roast_grid_free(grid);
}

/* ---- characters ---- */

static void expect_width(size_t width, const char *text) {
    assert_int_equal(width, roast_text_width(roast_str_of(text)));
}

static void test_widths(void **state) {
    (void)state;
    expect_width(0, "");
    expect_width(3, "abc");
    expect_width(5, "Größe");
    expect_width(5, "Gro\xcc\x88ße"); /* a combining diaeresis */
    expect_width(4, "漢字");
    expect_width(4, "한글");
    expect_width(1, "\xe2\x80\x8b|"); /* a zero-width blank */
    expect_width(2, "😀");
    expect_width(6, "tt̄ → 2");
    expect_width(2, "Ａ");               /* a full-width letter */
    expect_width(3, "a\xff\xfe");        /* not UTF-8: a sign each */
    expect_width(2, "\xe2\x82|");        /* cut off inside */
    expect_width(2, "\xc3\x28");         /* a first byte without its second */
    expect_width(1, "\xf0\x9d\x84\x9e"); /* a clef, beyond the first plane */
    expect_width(3, "\xed\xa0\x80");     /* a surrogate is none */
    expect_width(2, "\xf0\xa0\x80\x80"); /* an ideograph of the second plane */
    assert_int_equal(0, roast_code_width(0x301));
    assert_int_equal(1, roast_code_width('a'));
    assert_int_equal(2, roast_code_width(0x4e00));
}

static void test_heads(void **state) {
    (void)state;
    roast_str text = roast_str_of("e\xcc\x81漢x"); /* é in two parts, wide, narrow: 1 + 2 + 1 */
    size_t taken = 9;
    assert_int_equal(0, roast_text_head(text, 0, &taken));
    assert_int_equal(0, taken);
    assert_int_equal(3, roast_text_head(text, 1, &taken));
    assert_int_equal(1, taken);
    assert_int_equal(3, roast_text_head(text, 2, &taken)); /* no half of a wide one */
    assert_int_equal(1, taken);
    assert_int_equal(6, roast_text_head(text, 3, NULL));
    assert_int_equal(7, roast_text_head(text, 99, &taken));
    assert_int_equal(4, taken);
}

static void expect_clean(const char *expected, const char *text) {
    roast_sink *sink = new_sink();
    roast_text_put_clean(sink, roast_str_of(text));
    expect_text(expected, sink);
}

static void test_what_is_shown_is_safe(void **state) {
    (void)state;
    expect_clean("plain, Größe 漢字", "plain, Größe 漢字");
    expect_clean("\\x1b[31mred\\x1b[0m", "\x1b[31mred\x1b[0m");
    expect_clean("a\\nb\\tc\\r\\a", "a\nb\tc\r\a");
    expect_clean("\\x7f\\x9b31m", "\x7f\xc2\x9b"
                                  "31m"); /* the other escape */
    expect_clean("\\u202eabc\\u2069", "\xe2\x80\xae"
                                      "abc\xe2\x81\xa9"); /* the other way round */
    expect_clean("\\u2028", "\xe2\x80\xa8");
    expect_clean("a�b", "a\xff"
                        "b");
    roast_sink *sink = new_sink();
    roast_text_put_clean(sink, (roast_str){"a\0b", 3});
    expect_text("a\\x00b", sink);
}

static void expect_wrapped(const char *expected, const char *text, unsigned at, unsigned indent,
                           unsigned width) {
    roast_sink *sink = new_sink();
    roast_text_put_wrapped(sink, roast_str_of(text), at, indent, width);
    expect_text(expected, sink);
}

static void test_wrapping(void **state) {
    (void)state;
    expect_wrapped("one two", "one two", 0, 0, 7);
    expect_wrapped("one\ntwo", "one two", 0, 0, 6);
    expect_wrapped("one\n  two\n  three", "one two three", 2, 2, 8);
    expect_wrapped("a\nb", "  a   b  ", 0, 0, 1);
    expect_wrapped("abc\ndef\ng", "abcdefg", 0, 0, 3);    /* a word that is longer than a line */
    expect_wrapped("took\n12 ms", "took 12 ms", 0, 0, 8); /* a number stays with its unit ... */
    expect_wrapped("12\nms", "12 ms", 0, 0, 4);           /* ... if it can */
    expect_wrapped("漢\n字", "漢字", 0, 0, 3);
    expect_wrapped("漢\n字", "漢字", 0, 0, 1);
    expect_wrapped("", "", 0, 0, 10);
}

/* ---- what is in a table ---- */

static void test_contents(void **state) {
    (void)state;
    roast_error err;
    roast_grid *grid = new_grid("A title");
    assert_status(ROAST_ESTATE, roast_grid_add_cell(grid, roast_str_of("x"), NULL, 0, &err));
    column(grid, "Name", ROAST_ALIGN_NAME);
    column(grid, "Value", ROAST_ALIGN_NUMBER);
    assert_int_equal(0, roast_grid_row_count(grid));
    assert_false(roast_grid_has_content(grid));
    const roast_grid_value values[] = {{"wall_time", roast_value_none(), "s"},
                                       {"num_chunks", roast_value_none(), "1"}};
    cell(grid, "a\nb");
    assert_int_equal(0, roast_grid_row_count(grid)); /* half a row is none */
    assert_ok(roast_grid_add_cell(grid, (roast_str){0}, values, 2, &err), err);
    assert_int_equal(1, roast_grid_row_count(grid));
    assert_false(roast_grid_has_content(grid)); /* nothing was measured */
    assert_str("a\\nb", roast_grid_text(grid, 0, 0));
    assert_str("-", roast_grid_text(grid, 0, 1));
    assert_null(roast_grid_text(grid, 0, 2).data);
    assert_null(roast_grid_text(grid, 1, 0).data);
    uint32_t count = 9;
    assert_string_equal("num_chunks", roast_grid_values(grid, 0, 1, &count)[1].key);
    assert_int_equal(2, count);
    roast_grid_values(grid, 0, 0, &count);
    assert_int_equal(0, count);
    assert_null(roast_grid_values(grid, 5, 0, &count));
    assert_status(ROAST_ESTATE,
                  roast_grid_add_column(grid, roast_str_of("late"), ROAST_ALIGN_LEFT, &err));
    cell(grid, "b");
    const roast_grid_value measured = {"wall_time", roast_value_int(0), "s"};
    assert_ok(roast_grid_add_cell(grid, roast_str_of("0 s"), &measured, 1, &err), err);
    assert_true(roast_grid_has_content(grid));
    assert_ok(roast_grid_set_caption(grid, roast_str_of("below"), &err), err);
    assert_string_equal("it", roast_grid_id(grid));
    assert_str("A title", roast_grid_title(grid));
    assert_str("below", roast_grid_caption(grid));
    assert_int_equal(2, roast_grid_column_count(grid));
    assert_str("Value", roast_grid_heading(grid, 1));
    assert_null(roast_grid_heading(grid, 2).data);
    roast_grid_free(grid);
    roast_grid_free(NULL);

    grid = new_grid("");
    assert_null(roast_grid_title(grid).data);
    assert_null(roast_grid_caption(grid).data);
    column(grid, "only", ROAST_ALIGN_LEFT);
    cell(grid, "a text counts as content");
    assert_true(roast_grid_has_content(grid));
    roast_grid_free(grid);
}

/* ---- how it is drawn ---- */

static void test_columns(void **state) {
    (void)state;
    roast_grid *grid = new_grid("Things");
    roast_error err;
    column(grid, "Name", ROAST_ALIGN_NAME);
    column(grid, "Size", ROAST_ALIGN_NUMBER);
    column(grid, "Uses", ROAST_ALIGN_RIGHT);
    column(grid, "What", ROAST_ALIGN_LEFT);
    const char *const cells[] = {"Größe", "1.52 MB", "7", "first", "漢字", "12.0 B",
                                 "1,234", "",        "x", "-",     "12",   "a long one"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        cell(grid, cells[i]);
    assert_ok(roast_grid_set_caption(grid, roast_str_of("3 of 9"), &err), err);
    expect_drawn("Things\n"
                 "─────────────────────────────────\n"
                 "Name      Size   Uses  What\n"
                 "Größe  1.52 MB      7  first\n"
                 "漢字   12.0 B   1,234\n"
                 "x         -        12  a long one\n"
                 "3 of 9\n",
                 grid, 80, false);
}

static void test_color(void **state) {
    (void)state;
    roast_grid *grid = new_grid("T");
    column(grid, "A", ROAST_ALIGN_LEFT);
    column(grid, "B", ROAST_ALIGN_NUMBER);
    cell(grid, "x");
    cell(grid, "-");
    expect_drawn("\x1b[1mT\x1b[0m\n\x1b[2m────\x1b[0m\n\x1b[2mA\x1b[0m  \x1b[2mB\x1b[0m\n"
                 "x  \x1b[2m-\x1b[0m\n",
                 grid, 80, true);
}

/* Without a title there is no rule; without a frame nothing is broken. */
static void test_bare(void **state) {
    (void)state;
    roast_grid *grid = new_grid("");
    column(grid, "name", ROAST_ALIGN_NAME);
    column(grid, "when", ROAST_ALIGN_LEFT);
    cell(grid, "a/rather/long/path/that/would/have/been/shortened/in/eighty/columns/of/a/terminal");
    cell(grid, "now");
    expect_drawn("name                                                                             "
                 "  when\n"
                 "a/rather/long/path/that/would/have/been/shortened/in/eighty/columns/of/a/terminal"
                 "  now\n",
                 grid, 0, false);
}

static void test_facts(void **state) {
    (void)state;
    roast_grid *grid = new_facts("Facts");
    cell(grid, "Rate");
    cell(grid, "4.00 Gbps over wall time");
    cell(grid, "Events");
    cell(grid, "1,000,000");
    cell(grid, "Not there");
    cell(grid, "-");
    cell(grid, "In words");
    cell(grid, "nobody looked");
    expect_drawn("Facts\n"
                 "────────────────────────────────────────\n"
                 "Rate            4.00 Gbps over wall time\n"
                 "Events     1,000,000\n"
                 "Not there          -\n"
                 "In words   nobody looked\n",
                 grid, 80, false);
}

/* Grids in one frame line up, and long facts are broken under their units. */
static void test_frames(void **state) {
    (void)state;
    roast_grid *one = new_facts("One"), *two = new_facts("Two");
    cell(one, "A longer label than below");
    cell(one, "1.5 s");
    cell(two, "Short");
    cell(two, "1,234 things, 12 of them with something to say");
    roast_grid_frame frame = roast_grid_frame_of(50);
    roast_grid_frame_fit(&frame, one);
    roast_grid_frame_fit(&frame, two);
    assert_int_equal(25, frame.label);
    assert_int_equal(5, frame.number);
    assert_int_equal(50, frame.rule);
    roast_sink *sink = new_sink();
    roast_grid_draw_in(one, &frame, false, sink);
    roast_grid_draw_in(two, &frame, false, sink);
    expect_text("One\n"
                "──────────────────────────────────────────────────\n"
                "A longer label than below    1.5 s\n"
                "Two\n"
                "──────────────────────────────────────────────────\n"
                "Short                      1,234 things, 12 of\n"
                "                                 them with\n"
                "                                 something to say\n",
                sink);
    roast_grid_free(one);
    roast_grid_free(two);
    assert_int_equal(ROAST_GRID_MIN_WIDTH, roast_grid_frame_of(0).width);
    assert_int_equal(200, roast_grid_frame_of(200).width);
}

static void test_labels_are_broken(void **state) {
    (void)state;
    roast_grid *grid = new_facts("");
    cell(grid, "A label that would leave no room for its value");
    cell(grid, "12.5 kHz");
    expect_drawn("A label that would     12.5 kHz\n"
                 "leave no room for its\n"
                 "value\n",
                 grid, 40, false);
}

/* Headings are broken first, then names are cut at their end; numbers never are. */
static void test_narrow_columns(void **state) {
    (void)state;
    roast_grid *grid = new_grid("");
    column(grid, "Name", ROAST_ALIGN_NAME);
    column(grid, "Peak Memory", ROAST_ALIGN_NUMBER);
    column(grid, "of Limit", ROAST_ALIGN_NUMBER);
    cell(grid, "root://host//store/data/2024/file_1.root");
    cell(grid, "123 MB");
    cell(grid, "50.0 %");
    cell(grid, "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字");
    cell(grid, "1.23 MB");
    cell(grid, "< 0.1 %");
    expect_drawn("                           Peak       of\n"
                 "Name                     Memory    Limit\n"
                 "root://host//store/da…   123 MB   50.0 %\n"
                 "漢字漢字漢字漢字漢字…   1.23 MB  < 0.1 %\n",
                 grid, 40, false);
}

/* What all names begin with is said once. */
static void test_names_with_one_beginning(void **state) {
    (void)state;
    roast_grid *grid = new_grid("");
    column(grid, "Worker", ROAST_ALIGN_NAME);
    column(grid, "Peak Memory of the Worker", ROAST_ALIGN_RIGHT);
    cell(grid, "tcp://127.0.0.1:38725");
    cell(grid, "123 MB of a limit of 4 GB");
    cell(grid, "tcp://127.0.0.1:38100");
    cell(grid, "1 MB");
    expect_drawn("Worker  Peak Memory of the Worker\n"
                 "38725   123 MB of a limit of 4 GB\n"
                 "38100                        1 MB\n"
                 "Worker: each begins with\n"
                 "tcp://127.0.0.1:\n",
                 grid, 40, false);
}

/* Two names that a cut would make equal are broken into lines instead. */
static void test_names_stay_different(void **state) {
    (void)state;
    roast_grid *grid = new_grid("");
    column(grid, "File", ROAST_ALIGN_NAME);
    cell(grid, "a_name_that_is_longer_than_the_terminal_is_wide_1");
    cell(grid, "a_name_that_is_longer_than_the_terminal_is_wide_2");
    cell(grid, "short");
    expect_drawn("File\n"
                 "a_name_that_is_longer_than_the_terminal_\n"
                 "is_wide_1\n"
                 "a_name_that_is_longer_than_the_terminal_\n"
                 "is_wide_2\n"
                 "short\n",
                 grid, 40, false);
    /* equal names are no two; a single one is not cut */
    grid = new_grid("");
    column(grid, "File", ROAST_ALIGN_NAME);
    cell(grid, "a_name_that_is_longer_than_the_terminal_is_wide_1");
    expect_drawn("File\n"
                 "a_name_that_is_longer_than_the_terminal_\n"
                 "is_wide_1\n",
                 grid, 40, false);
    grid = new_grid("");
    column(grid, "File", ROAST_ALIGN_NAME);
    cell(grid, "a_name_that_is_longer_than_the_terminal_is_wide_1");
    cell(grid, "a_name_that_is_longer_than_the_terminal_is_wide_1");
    expect_drawn("File\n"
                 "a_name_that_is_longer_than_the_terminal…\n"
                 "a_name_that_is_longer_than_the_terminal…\n",
                 grid, 40, false);
}

/* ---- memory ---- */

static roast_status make_and_draw(void *context) {
    (void)context;
    roast_grid *grid = NULL;
    roast_sink *sink = NULL;
    const roast_grid_value value = {"wall_time", roast_value_real(1), "s"};
    roast_status status = roast_grid_new("it", roast_str_of("title"), &grid, NULL);
    if (status == ROAST_OK)
        status = roast_grid_add_column(grid, roast_str_of("a"), ROAST_ALIGN_NAME, NULL);
    if (status == ROAST_OK)
        status = roast_grid_add_column(grid, roast_str_of("b"), ROAST_ALIGN_NUMBER, NULL);
    for (int i = 0; status == ROAST_OK && i < 40; i++)
        status = roast_grid_add_cell(grid, roast_str_of("1 a"), &value, 1, NULL);
    if (status == ROAST_OK)
        status = roast_grid_set_caption(grid, roast_str_of("below"), NULL);
    if (status == ROAST_OK)
        status = roast_sink_new_memory(&sink, NULL);
    if (status == ROAST_OK) {
        roast_grid_draw(grid, 0, false, sink);
        status = roast_sink_finish(sink, NULL);
    }
    roast_sink_free(sink);
    roast_grid_free(grid);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(make_and_draw, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_what_is_shown_is_safe),
        cmocka_unit_test(test_wrapping),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_labels_are_broken),
        cmocka_unit_test(test_narrow_columns),
        cmocka_unit_test(test_names_with_one_beginning),
        cmocka_unit_test(test_names_stay_different),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
