#include "render/grid_columns.h"

roast_status roast_grid_add_columns(roast_grid *grid, const roast_grid_column_of *columns,
                                    size_t count, roast_error *err) {
    for (size_t i = 0; i < count; i++)
        ROAST_TRY(
            roast_grid_add_column(grid, roast_str_of(columns[i].heading), columns[i].align, err));
    return ROAST_OK;
}

roast_status roast_grid_draw_tables(const void *source, int count,
                                    roast_status (*make)(const void *source, int number,
                                                         roast_grid **out, roast_error *err),
                                    unsigned width, bool color, roast_sink *sink,
                                    roast_error *err) {
    for (int i = 0; i < count; i++) {
        roast_grid *grid;
        ROAST_TRY(make(source, i, &grid, err));
        if (roast_grid_row_count(grid) > 0) {
            roast_sink_puts(sink, "\n");
            roast_grid_draw(grid, width, color, sink);
        }
        roast_grid_free(grid);
    }
    return ROAST_OK;
}
