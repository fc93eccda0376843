/* Lesson 08's training kernel as one loop for one core of a CPU: the same arithmetic, in the same order.
   many_networks.py compiles it with -O2. The weights are changed in place: w is (7, 6), v is (6, 1). */
#include <math.h>

void training(const float *x, const float *y, float *w, float *v, float *losses, int epochs, float rate)
{
    float memory[6], hidden[6];
    for (int epoch = 0; epoch < epochs; epoch++) {
        float total = 0;
        for (int t = 0; t < 6; t++)
            memory[t] = 0;
        for (int step = 0; step < 20; step++) {
            float error = -y[step];
            for (int t = 0; t < 6; t++) { /* forward */
                float s = x[step] * w[t];
                for (int k = 0; k < 6; k++)
                    s += memory[k] * w[6 * (k + 1) + t];
                hidden[t] = tanhf(s);
            }
            for (int k = 0; k < 6; k++)
                error += hidden[k] * v[k];
            total += error * error / 2;
            for (int t = 0; t < 42; t++) { /* backward, and the update */
                int row = t / 6, column = t % 6;
                float slope = error * v[column] * (1 - hidden[column] * hidden[column]);
                w[t] -= rate * slope * (row ? memory[row - 1] : x[step]);
            }
            for (int t = 0; t < 6; t++) {
                v[t] -= rate * error * hidden[t];
                memory[t] = hidden[t];
            }
        }
        losses[epoch] = total;
    }
}
