/* Becomes the program that its arguments name, as env(1) does; without arguments it does nothing. For a static launcher. */
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 1)
        execvp(argv[1], argv + 1);
    return argc > 1 ? 127 : 0;
}
