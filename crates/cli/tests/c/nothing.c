/* Uses no lock. */
int main(void)
{
    return 3;
}
